# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of a platform: times of transfers with both fits, precisions, and forecasts."""

from pathlib import Path
from typing import Any

from sobor.drawing import new_figure, save
from sobor.errors import SoborError
from sobor.model.allgather import Link

_WIDTH, _HEIGHT = 7.0, 3.7


def draw(answers: dict[str, Any], path: Path) -> None:
    """Writes the pictures."""
    if "ts_us" not in answers:
        raise SoborError("--plot: expected a job of several ranks, found one")
    crossing = answers.get("crossing_elements")
    parts = 3 if crossing is None else 4
    figure = new_figure("--plot", (_WIDTH, parts * _HEIGHT))
    axes = figure.subplots(parts, 1)
    _transfers(axes[0], answers)
    _spreads(axes[1], answers)
    _forecasts(axes[2], answers["forecasts"])
    if crossing is not None:
        _crossing(axes[3], crossing)
    save(figure, path)


def _crossing(axes: Any, found: dict[str, Any]) -> None:
    for name, label in (("measured", "(p - 1)² transfers"), ("whole", "p (p - 1) transfers")):
        gains = found[f"{name}_gains"]
        times = [gain["gain"] for gain in gains]
        axes.plot([gain["elements"] for gain in gains], times, "o-", label=label)
    if found["model"]:
        axes.axvline(found["model"], color="0.7", label="by the formulas, up to here")
    axes.axhline(1, color="0.7", linewidth=1)
    axes.set(title="Each-with-each over BAGDS", xlabel="elements of 4 bytes", ylabel="time ratio")
    axes.set(xscale="log", yscale="log")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)


def _transfers(axes: Any, answers: dict[str, Any]) -> None:
    pings = answers["pings"]
    elements = [ping["elements"] for ping in pings]
    low = [ping["value"] - ping["p10"] for ping in pings]
    high = [max(0.0, ping["p90"] - ping["value"]) for ping in pings]
    values = [ping["value"] for ping in pings]
    axes.errorbar(elements, values, yerr=(low, high), fmt="o", label="measured, p10 - p90")
    for label, fitted in (("least squares", answers), ("two points", answers["two_points"])):
        link = Link(fitted["ts_us"]["value"], fitted["tw_us"]["value"])
        axes.plot(elements, [link.transfer(count) for count in elements], label=label)
    axes.set(title="A transfer", xlabel="elements of 4 bytes", ylabel="time, µs")
    axes.set(xscale="log", yscale="log")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)


def _spreads(axes: Any, answers: dict[str, Any]) -> None:
    """Figures of several kinds, each over its own median."""
    kinds = ("flops", "ts_us", "tw_us", "bandwidth", "injection", "overhead_us", "eager_bytes")
    kinds += ("barrier_precision_us", "reference_precision_us")
    for place, kind in enumerate(kinds):
        spread = answers[kind]
        middle = spread["value"] or 1.0
        axes.plot([spread["p10"] / middle, spread["p90"] / middle], [place] * 2, "|-", color="C0")
    ratio = answers["switch"]["ratio"]
    axes.set_yticks(range(len(kinds)), kinds)
    axes.axvline(1, color="0.7", linewidth=1)
    title = f"Spreads, p10 - p90; switch {answers['switch']['value']}, {ratio:.2f} times a pair"
    axes.set(title=f"{title}; lanes {answers['lanes']['value']}", xlabel="of the median")


def _forecasts(axes: Any, rows: list[dict[str, Any]]) -> None:
    for number, collective in enumerate(("allgather", "alltoall")):
        mine = [row for row in rows if row["collective"] == collective]
        sizes = [row["bytes"] for row in mine]
        axes.plot(sizes, [row["measured_us"] for row in mine], f"C{number}o", label=collective)
        axes.plot(sizes, [row["forecast_us"] for row in mine], f"C{number}-", label="forecast")
    axes.set(title="Calls of all ends", xlabel="bytes of a block", ylabel="time, µs")
    if rows:
        axes.set(xscale="log", yscale="log")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
