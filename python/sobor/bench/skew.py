# SPDX-License-Identifier: BSD-3-Clause
"""How much of a time says when ranks began, and not how long a call takes.

A barrier that lets ranks go one after the other hides part of the call that follows: the root may
be done before the clock of the slowest rank begins. So the time from the first rank that began to
the last that ended (span) is set beside the time of the slowest rank.
"""

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from sobor import console
from sobor.bench.figures import figure, point_cells, way
from sobor.bench.job import Row
from sobor.sizes import counted

SIDES = {"host": "host", "sobor": "Sobor"}
# A part of the call that is no more noise, and a difference that is none.
_MUCH = 1 / 3
_LEVEL = 0.05


def slowest(row: Row, side: str) -> float | None:
    """Microseconds of the slowest rank."""
    return row.get(f"{side}_max_us", row.get(f"{side}_us"))


def hidden(row: Row, side: str) -> float | None:
    """The part of the call, from 0 to 1, that was over before the slowest rank's clock began."""
    time, span = slowest(row, side), row.get(f"{side}_span_us")
    return None if not time or not span else max(0.0, 1 - time / span)


def is_skewed(row: Row) -> bool:
    """Whether the ratio says more of a barrier than of the call."""
    return any((hidden(row, side) or 0) > _MUCH for side in SIDES)


def explain(rows: list[Row]) -> None:
    """Adds to each row what skew hides, and how much of its difference to other ways it is."""
    for row in rows:
        if row.get("sync") is None:
            continue
        both = [row.get(f"{side}_span_us") for side in SIDES]
        row["ratio_span"] = both[0] / both[1] if all(both) else None
        for side in SIDES:
            row[f"{side}_hidden"] = hidden(row, side)
            row[f"{side}_explained"] = {
                way(other): _explained(row, other, side) for other in _others(row, rows)
            }


def _others(row: Row, rows: Iterable[Row]) -> list[Row]:
    """The same point, behind the common barrier or begun at an agreed time."""
    same = ("ranks", "launcher", "forced", "collective", "bytes", "variant")
    beside = [each for each in rows if all(each.get(name) == row.get(name) for name in same)]
    common = [
        each
        for each in beside
        if (each["method"], each["sync"]) == (row["method"], "common") and row["sync"] == "own"
    ]
    return common + [each for each in beside if each["method"] == "window" and each["host_us"]]


def _explained(row: Row, other: Row, side: str) -> float | None:
    """The part of the difference that the skew is; None where there is no difference."""
    time, reference, span = slowest(row, side), slowest(other, side), row.get(f"{side}_span_us")
    if not time or not reference or not span or abs(reference - time) <= _LEVEL * reference:
        return None
    return min(1.0, max(0.0, (span - time) / (reference - time)))


def write(rows: list[Row], out: Console) -> None:
    """A table of what was explained, for people."""
    chosen = [row for row in rows if row.get("sync")]
    for ranks in dict.fromkeys(row["ranks"] for row in chosen):
        console.heading(out, f"{counted(ranks, 'rank')}: how much of it is skew")
        numbers = ("slowest µs", "apart µs", "first to last µs", "hidden")
        columns = ("collective", "bytes", "buffers", "method", "side", *numbers, "explains")
        grid = console.table(out, *columns, right=("bytes", *numbers))
        for row in chosen:
            if row["ranks"] == ranks:
                _add(grid, row)
        out.print(console.indented(grid))
        out.print("  apart: between the first and the last rank that began, after the barrier")
        out.print("  hidden: over before the slowest rank's clock began")
        out.print("  explains: of the difference to the same call by another method")


def _add(grid, row: Row) -> None:
    place = [*point_cells(row), way(row)]
    for side, name in SIDES.items():
        if slowest(row, side) is None:
            continue
        times = [slowest(row, side), row[f"{side}_skew_us"], row[f"{side}_span_us"]]
        explained = [
            f"{_percent(part)} of {label}"
            for label, part in row[f"{side}_explained"].items()
            if part is not None
        ]
        part = hidden(row, side)
        style = "bold red" if (part or 0) > _MUCH else ""
        cells = [*map(figure, times), Text(_percent(part), style=style)]
        grid.add_row(*place, name, *cells, ", ".join(explained) or "-")
        place = [""] * len(place)


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{part:.0%}"
