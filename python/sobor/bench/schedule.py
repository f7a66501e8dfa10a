# SPDX-License-Identifier: BSD-3-Clause
"""The jobs of a request in the order they are run, and what is made of their rows."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from sobor.bench.job import Job, Row
from sobor.bench.request import Request
from sobor.bench.target import Target

# The columns of figures: medians and percentiles of times, their ratios, and context switches.
_FIGURE = re.compile(r"(.*_us|ratio|limit_ratio|.*_switches|.*_sleeps)(_p\d+)?")
# What is added up over the rounds.
_COUNTS = ("calls", "host_late", "sobor_late")


@dataclass(frozen=True)
class Measured:
    """A row with what it was measured for."""

    target: int
    ranks: int
    forced: str | None
    row: Row

    @property
    def key(self) -> tuple:
        """The same for the rounds of one point."""
        return self.ranks, point_of(self.row), self.target, self.forced


def point_of(row: Row) -> tuple:
    """What was measured and how, whichever the MPI and the algorithm."""
    return row["collective"], row["bytes"], row["variant"], row.get("method"), row.get("sync")


def jobs(request: Request, targets: list[Target]) -> Iterator[tuple[int, Job]]:
    """Every job with its target's number, round by round: all targets see the same noise."""
    for ranks in request.ranks:
        for _ in range(request.rounds):
            for number, target in enumerate(targets):
                for turn, forced in enumerate(_settings(request, target)):
                    collectives = _collectives(request, forced, first=turn == 0)
                    yield number, Job(target, ranks, collectives, forced)


def _settings(request: Request, target: Target) -> list[dict[str, str]]:
    """The forced algorithms of each job for one target: the k-th of each collective together."""
    if not request.algorithms or not target.preloads:
        return [{}]
    longest = max(len(names) for names in request.algorithms.values())
    return [
        {collective: names[k] for collective, names in request.algorithms.items() if k < len(names)}
        for k in range(longest)
    ]


def _collectives(request: Request, forced: dict[str, str], first: bool) -> list[str]:
    """What a job measures: what is forced in it, and in the first one all that never is."""
    return [
        name
        for name in request.collectives
        if name in forced or not forced or (first and name not in request.algorithms)
    ]


def merge(measured: list[Measured], request: Request, targets: list[Target]) -> list[Row]:
    """One row for each point: the median over the rounds, ordered for reading."""
    points: dict[tuple, list[Measured]] = {}
    for entry in measured:
        points.setdefault(entry.key, []).append(entry)
    order = sorted(points, key=lambda key: _order(key, request))
    return [_combined(points[key], targets) for key in order]


def _order(key: tuple, request: Request) -> tuple:
    ranks, (collective, size, variant, method, sync), target, forced = key
    place = request.collectives.index(collective)
    names = request.algorithms.get(collective, [])
    turn = names.index(forced) if forced in names else -1
    order = request.variants.index(variant) if variant in request.variants else 0
    way = request.methods.index(method) if method in request.methods else 0
    return ranks, place, size, order, way, sync != "own", target, turn


def _combined(rounds: list[Measured], targets: list[Target]) -> Row:
    rows = [entry.row for entry in rounds]
    row = {**rows[-1], "launcher": targets[rounds[0].target].command, "rounds": len(rows)}
    row["forced"] = rounds[0].forced
    for name in filter(_FIGURE.fullmatch, rows[-1]):
        row[name] = _median([each.get(name) for each in rows])
    for name in filter(row.__contains__, _COUNTS):
        row[name] = sum(each[name] for each in rows)
    if any(each.get("checked") is False for each in rows):
        row["checked"] = False
    return row


def _median(values: list[Any]) -> float | None:
    return None if any(value is None for value in values) else median(values)
