# SPDX-License-Identifier: BSD-3-Clause
"""Draws the curves of a study."""

from pathlib import Path

from sobor.bench.experiments import Study
from sobor.bench.study import Point, tick
from sobor.drawing import new_figure, save

_SIZE = (7.5, 4.8)
_MARKERS = "osD^vX*"
_DASHES = ("--", "-.", ":")


def draw(points: list[Point], study: Study, place: str, path: Path) -> None:
    """Writes the picture."""
    figure = new_figure("--study", _SIZE)
    axes = figure.subplots()
    for number, curve in enumerate(dict.fromkeys(p.curve for p in points if p.x is not None)):
        chosen = sorted((p.x, p.time_us) for p in points if p.curve == curve and p.x is not None)
        xs, ys = zip(*chosen, strict=True)
        marker = _MARKERS[number % len(_MARKERS)]
        axes.plot(xs, ys, marker=marker, markersize=4, linewidth=1.2, label=curve)
    # What does not depend on the axis: a line across, to compare with.
    for number, point in enumerate(p for p in points if p.x is None):
        style = _DASHES[number % len(_DASHES)]
        name = f"{point.label}, {point.curve}"
        axes.axhline(point.time_us, linestyle=style, linewidth=1, color="grey", label=name)
    if study.ticks != "label":
        axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = {p.x: tick(p, study) for p in points if p.x is not None}
    axes.set_xticks(list(ticks), list(ticks.values()), fontsize=8)
    axes.set(title=f"{study.title}: {place}", xlabel=study.axis, ylabel="time, µs")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    save(figure, path)
