# SPDX-License-Identifier: BSD-3-Clause
"""Sobor beside the loops of bench/limits: what two processes reach without MPI."""

from collections.abc import Iterable
from statistics import geometric_mean

from rich.console import Console
from rich.text import Text

from sobor import console
from sobor.bench.figures import figure, point_cells, way
from sobor.bench.job import Row

# What is no more than this times the limit has reached it.
_REACHED = 1.15
_TIMES = {
    "ordinary µs": "limit_ordinary_us",
    "wide µs": "limit_wide_us",
    "non-temporal µs": "limit_non_temporal_us",
    "direct µs": "limit_direct_us",
}
_RATIO = "Sobor / best"


def limited(rows: Iterable[Row]) -> list[Row]:
    """The rows that have a limit."""
    return [row for row in rows if row.get("limit_ratio") is not None]


def write(rows: list[Row], out: Console) -> None:
    """A table of the limits, for people."""
    rows = limited(rows)
    if not rows:
        return
    console.heading(out, "limits: loops over a shared segment, without MPI")
    columns = ("collective", "bytes", "buffers", "method", "host", *_TIMES, _RATIO)
    grid = console.table(out, *columns, right=("bytes", *_TIMES, _RATIO))
    for row in rows:
        style = "" if row["limit_ratio"] <= _REACHED else "bold red"
        times = [figure(row.get(name)) for name in _TIMES.values()]
        ratio = Text(figure(row["limit_ratio"]), style=style)
        grid.add_row(*point_cells(row), way(row), row["host"], *times, ratio)
    out.print(console.indented(grid))
    out.print(f"  {summary(rows)}")


def summary(rows: list[Row]) -> str:
    """How many points have reached their limit."""
    ratios = [row["limit_ratio"] for row in limited(rows)]
    reached = sum(ratio <= _REACHED for ratio in ratios)
    return (
        f"Sobor is within {_REACHED} of the best limit in {reached} of {len(ratios)}; "
        f"geometric mean of Sobor/limit {figure(geometric_mean(ratios))}"
    )
