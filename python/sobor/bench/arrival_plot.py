# SPDX-License-Identifier: BSD-3-Clause
"""Draws the study of uneven arrival."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sobor.drawing import new_figure, save
from sobor.sizes import short_size

if TYPE_CHECKING:
    from sobor.bench.arrival import Point

_WIDTH, _HEIGHT = 7.5, 4.2
_MARKERS = "osD^vX*P<>"


def draw(points: "list[Point]", title: str, path: Path) -> None:
    """Writes the picture: times over sizes, a part for each width; of one size over widths."""
    sizes = sorted({point.bytes for point in points})
    widths = sorted({point.width_us for point in points})
    by_size = len(sizes) > 1
    parts = len(widths) if by_size else 1
    figure = new_figure("--study", (_WIDTH, _HEIGHT * parts))
    for number, axes in enumerate(figure.subplots(parts, 1, squeeze=False)[:, 0]):
        if by_size:
            chosen = [point for point in points if point.width_us == widths[number]]
            axes.set(title=f"{title}: width {widths[number]:g} µs", xlabel="message, bytes")
            _curves(axes, chosen, lambda point: point.bytes)
            axes.set_xscale("log", base=2)
            axes.set_xticks(sizes, [short_size(size) for size in sizes])
        else:
            axes.set(title=f"{title}, {short_size(sizes[0])} bytes", xlabel="width, µs")
            _curves(axes, points, lambda point: point.width_us)
        axes.set(ylabel="largest mean of a rank, µs", yscale="log")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    save(figure, path)


def _curves(axes: Any, points: "list[Point]", place: "Callable[[Point], float]") -> None:
    for number, curve in enumerate(dict.fromkeys(point.curve for point in points)):
        chosen = sorted((place(point), point.max_us) for point in points if point.curve == curve)
        marker = _MARKERS[number % len(_MARKERS)]
        xs, ys = zip(*chosen, strict=True)
        axes.plot(xs, ys, marker=marker, markersize=4, linewidth=1.2, label=curve)
