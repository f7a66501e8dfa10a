# SPDX-License-Identifier: BSD-3-Clause
"""Draws the curves of a study."""

from pathlib import Path
from typing import Any

from sobor.bench.experiments import Study
from sobor.errors import SoborError
from sobor.sizes import short_size

_SIZE = (7.5, 4.8)
_MARKERS = "osD^vX*"


def draw(points: list[Any], study: Study, place: str, path: Path) -> None:
    """Writes the picture."""
    try:
        import matplotlib  # noqa: PLC0415 - only pictures need it
    except ImportError:
        raise SoborError(
            "--study draws with Matplotlib, which this Python does not have",
            "install it: pip install matplotlib",
        ) from None
    matplotlib.use("svg")
    # Text stays text; and the same times give the same file.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "sobor"})
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=_SIZE, layout="constrained")
    axes = figure.subplots()
    for number, curve in enumerate(dict.fromkeys(point.curve for point in points)):
        chosen = sorted((p.x, p.time_us) for p in points if p.curve == curve)
        xs, ys = zip(*chosen, strict=True)
        marker = _MARKERS[number % len(_MARKERS)]
        axes.plot(xs, ys, marker=marker, markersize=4, linewidth=1.2, label=curve)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = sorted({point.x for point in points})
    axes.set_xticks(ticks, [_tick(x, study) for x in ticks], fontsize=8)
    axes.set(title=f"{study.title}: {place}", xlabel=study.axis, ylabel="time, µs")
    axes.grid(alpha=0.3)
    axes.legend(title=None if study.by_size else "message", fontsize=8)
    figure.savefig(path, format="svg", metadata={"Date": None})


def _tick(x: int, study: Study) -> str:
    return str(x) if study.axis.startswith("s") else short_size(x)
