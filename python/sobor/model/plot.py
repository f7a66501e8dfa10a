# SPDX-License-Identifier: BSD-3-Clause
"""Draws the curves of the cost model: T(f), its saw-tooth for a fixed s, and T(s)."""

from pathlib import Path
from typing import Any

from sobor.drawing import new_figure, save
from sobor.sizes import human_size

_SIZE = (7.0, 10.5)


def draw(answers: dict[str, Any], curves: dict[str, list], path: Path) -> None:
    """Writes the picture."""
    figure = new_figure("--plot", _SIZE)
    by_fragment, saw_tooth, by_slots = figure.subplots(3, 1)
    figure.suptitle(f"Broadcast of {human_size(answers['bytes'])}, model")
    _by_fragment(by_fragment, curves, answers)
    _saw_tooth(saw_tooth, curves["saw_tooth"], answers)
    _by_slots(by_slots, curves["slots"], answers)
    save(figure, path)


def _curve(axes: Any, points: list[list[float]], title: str, label: str) -> None:
    axes.plot([x for x, _ in points], [y for _, y in points], color="tab:blue", linewidth=1.2)
    axes.set(title=title, xlabel=label, ylabel="time, µs")
    axes.grid(alpha=0.3)


def _by_fragment(axes: Any, curves: dict[str, list], answers: dict[str, Any]) -> None:
    title = f"T(f) in a ring of {human_size(answers['ring_bytes'])}"
    _curve(axes, curves["fragment"], title, "f, bytes")
    for name, line in (("openings_and_copies", ":"), ("notifications", "-.")):
        x, y = zip(*curves[name], strict=True)
        axes.plot(x, y, line, linewidth=1, label=name.replace("_", " "))
    best = answers["f_opt_bytes"]
    axes.axvline(best, color="tab:red", linestyle="--", linewidth=1, label=f"f* = {best}")
    axes.set(xscale="log", yscale="log")
    axes.legend()


def _saw_tooth(axes: Any, points: list, answers: dict[str, Any]) -> None:
    _curve(axes, points, f"T(f) with s = {answers['slots']} buffers", "f, bytes")


def _by_slots(axes: Any, points: list, answers: dict[str, Any]) -> None:
    _curve(axes, points, f"T(s) with f = {answers['fragment_bytes']} bytes", "s, buffers")
    axes.set(xscale="log", yscale="log")
