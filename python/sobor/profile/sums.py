# SPDX-License-Identifier: BSD-3-Clause
"""Brings the ranks' sums together, and tells waiting from the rest by the calls that were kept."""

from dataclasses import dataclass, field
from typing import Any

#: Operation, size class, communicator, whether Sobor served it.
Cell = tuple[str, int, str, bool]


_MEANS = ("calls", "total_us_mean")


@dataclass(frozen=True)
class Call:
    """One rank's times of one call; those of a domain can be compared."""

    key: tuple
    cell: Cell
    ranks: int
    domain: int
    entered: int
    left: int
    weight: int


@dataclass
class _Total:
    calls: int = 0
    times: dict[int, int] = field(default_factory=dict)
    waited: float = 0.0
    weight: int = 0


def of_any_rank(profile: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a profile, but with means over all ranks: these can be added up."""
    return [
        {**row, **{mean: row[mean] * row["members"] / profile["ranks"] for mean in _MEANS}}
        for row in profile["calls"]
    ]


def _number(value: float) -> float:
    return int(value) if value == int(value) else value


class Sums:
    """What the ranks' files say together."""

    def __init__(self):
        self._members: dict[str, set[int]] = {}
        self._totals: dict[Cell, _Total] = {}
        self._calls: dict[tuple, list[Call]] = {}

    def member(self, communicator: str, rank: int) -> None:
        """The rank is in this communicator."""
        self._members.setdefault(communicator, set()).add(rank)

    def add(
        self, operation: str, size: int, communicator: str, served: bool, rank: int, calls: int,
        time: int,
    ) -> None:  # fmt: skip
        """One rank's sum of a cell; the time in nanoseconds."""
        total = self._totals.setdefault((operation, size, communicator, served), _Total())
        total.calls += calls
        total.times[rank] = total.times.get(rank, 0) + time

    def sample(self, call: Call) -> None:
        """One rank's times of one call."""
        self._calls.setdefault(call.key, []).append(call)

    def rows(self) -> list[dict[str, Any]]:
        """One row for each cell, those with the most time first."""
        self._wait()
        rows = [self._row(cell, total) for cell, total in self._totals.items()]
        return sorted(rows, key=lambda row: -row["total_us_mean"])

    def _wait(self) -> None:
        for calls in self._calls.values():
            if len(calls) != calls[0].ranks or len({call.domain for call in calls}) > 1:
                continue
            last = max(call.entered for call in calls)
            for call in calls:
                total = self._totals[call.cell]
                total.waited += call.weight * max(0, min(call.left, last) - call.entered)
                total.weight += call.weight

    def _row(self, cell: Cell, total: _Total) -> dict[str, Any]:
        operation, size, communicator, served = cell
        ranks = self._members.get(communicator, set(total.times)) | set(total.times)
        times = [total.times.get(rank, 0) / 1e3 for rank in ranks]
        return {
            "operation": operation,
            "bytes": size,
            "communicator": communicator,
            "served": served,
            "members": len(ranks),
            "calls": _number(total.calls / len(ranks)),
            "total_us_min": min(times),
            "total_us_mean": sum(times) / len(times),
            "total_us_max": max(times),
            "wait_us_mean": total.waited / 1e3 / total.weight if total.weight else None,
        }
