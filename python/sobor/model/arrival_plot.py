# SPDX-License-Identifier: BSD-3-Clause
"""The three pictures of the impact model: impact, times over sizes, a leader's arrival."""

from pathlib import Path
from typing import Any

import numpy as np

from sobor.drawing import new_figure, save
from sobor.model.arrival import Job, arrival_density

_SIZE = (7.0, 11.0)
_DEGREES = np.linspace(0.5, 100, 200)
_SIZES = 2.0 ** np.arange(3, 21)
_RIVALS = (2, 4, 8)


def draw(job: Job, width: float, network: Any, path: Path) -> None:
    """Writes the pictures of a job; `network` has transfer(bytes), times in microseconds."""
    figure = new_figure("--plot", _SIZE)
    impact, times, density = figure.subplots(3, 1)
    _impact(impact, job)
    _times(times, job, width, network)
    _density(density, job)
    for axes in (impact, times, density):
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    save(figure, path)


def _rivals(job: Job, *others: int) -> list[int]:
    return sorted({*others, job.per_node} - {1})


def _impact(axes: Any, job: Job) -> None:
    ranks = job.nodes * job.per_node
    for method, label in (("bt", f"BT, p = {ranks}"), ("p-bt", f"P-BT, {job.nodes} nodes")):
        axes.plot(_DEGREES, [job.gamma(method, degree) for degree in _DEGREES], label=label)
    for rivals in _rivals(job, 2):
        other = Job(max(1, ranks // rivals), rivals)
        label = f"CP-BT, {other.nodes} nodes, n = {rivals}"
        axes.plot(_DEGREES, [other.gamma("cp-bt", degree) for degree in _DEGREES], label=label)
    axes.set(title="Impact", xlabel="unbalance degree Ψ", ylabel="impact Γ")


def _times(axes: Any, job: Job, width: float, network: Any) -> None:
    curves = [("bt", 0.0, "--"), ("bt", width, "-"), ("p-bt", 0.0, "--"), ("p-bt", width, "-")]
    for method, late, line in [*curves, ("cp-bt", width, "-")]:
        label = f"{method.upper()}, {f'width {late:g} µs' if late else 'balanced'}"
        values = [job.time(method, late, network.transfer(size)) for size in _SIZES]
        axes.plot(_SIZES, values, line, label=label)
    axes.set_xscale("log", base=2)
    axes.set(title="Time of a broadcast", xlabel="message, bytes", ylabel="time, µs", yscale="log")


def _density(axes: Any, job: Job) -> None:
    shares = np.linspace(0, 1, 101)
    for rivals in (1, *_rivals(job, *_RIVALS)):
        axes.plot(shares, [arrival_density(x, rivals) for x in shares], label=f"n = {rivals}")
    axes.set(title="Arrival of a node's first rank", xlabel="time / k", ylabel="density × k")
