# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of allgathers: times over elements on a star and a crossbar, and where BAGDS wins."""

from pathlib import Path
from typing import Any

import numpy as np

from sobor.drawing import new_figure, save
from sobor.model.allgather import METHODS, SWITCHES, Link, crossing, plan
from sobor.model.allgather_answers import LATENCIES, RANKS

_SIZE = (7.0, 14.0)
_ELEMENTS = np.logspace(0, 5, 60)


def draw(link: Link, ranks: int, element: int, path: Path) -> None:
    """Writes the pictures."""
    figure = new_figure("--plot", _SIZE)
    *times, by_latency, by_ranks = figure.subplots(4, 1)
    for axes, switch in zip(times, SWITCHES, strict=True):
        _times(axes, link, ranks, switch)
        axes.set_xlabel(f"elements of {element} bytes a rank")
    _by_latency(by_latency, link, ranks)
    _by_ranks(by_ranks, link)
    for axes in (*times, by_latency, by_ranks):
        axes.set(xscale="log", yscale="log")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    save(figure, path)


def _times(axes: Any, link: Link, ranks: int, switch: str) -> None:
    for method in METHODS:
        axes.plot(_ELEMENTS, plan(method, ranks).time(switch, link, _ELEMENTS), label=method)
    axes.set(title=f"Allgather of {ranks} ranks, {switch}", ylabel="time, µs")


def _limits(links: list[Link], counts: list[int]) -> list[float]:
    """NaN where there is no limit."""
    limits = (crossing(link, count, "star") for link, count in zip(links, counts, strict=True))
    return [np.nan if limit is None else limit for limit in limits]


def _by_latency(axes: Any, link: Link, ranks: int) -> None:
    latencies = [link.latency * factor for factor in LATENCIES]
    links = [Link(latency, link.element) for latency in latencies]
    axes.plot(latencies, _limits(links, [ranks] * len(links)), label=f"p = {ranks}")
    axes.set(title="Star: BAGDS is ahead below", xlabel="t_s, µs", ylabel="elements a rank")


def _by_ranks(axes: Any, link: Link) -> None:
    for factor in (0.1, 1, 10):
        other = Link(link.latency * factor, link.element)
        limits = _limits([other] * len(RANKS), list(RANKS))
        axes.plot(RANKS, limits, "o-", label=f"t_s = {other.latency:.3g} µs")
    axes.set(title="Star: BAGDS is ahead below", xlabel="ranks p", ylabel="elements a rank")
