# SPDX-License-Identifier: BSD-3-Clause
"""Shows the rows of the bench for people."""

from collections.abc import Iterable
from statistics import geometric_mean, median

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from sobor import console
from sobor.bench.job import Row
from sobor.bench.peers import is_named
from sobor.bench.request import PASSTHROUGH
from sobor.sizes import short_size

# A ratio this near to 1 is noise.
_NOISE = 0.05
_SPREAD = "p10 - p90"
_SWITCHES = "switches"
_FIGURES = ("host µs", "Sobor µs", "ratio", _SPREAD)
# A narrower terminal has no room for the spread beside the name of the host.
_WIDE = 104


def write(rows: list[Row], out: Console, cores: int) -> None:
    """One table for each number of ranks, each with a summary."""
    for ranks in dict.fromkeys(row["ranks"] for row in rows):
        chosen = [row for row in rows if row["ranks"] == ranks]
        turns = ": ranks take turns" if ranks > cores else ""
        console.heading(out, f"{ranks} ranks on {cores} cores{turns}")
        out.print(_table(chosen, out, switches=ranks > cores))
        for line in [*summary(chosen), *lines(chosen), *turns_needed(chosen, ranks, cores)]:
            out.print(f"  {line}")


def _table(rows: list[Row], out: Console, switches: bool) -> Padding:
    names = _names(rows)
    several = len(names) > 1
    columns = ["collective", "bytes", "buffers", "host", "algorithm", *_FIGURES, _SWITCHES]
    wanted = {
        "host": several,
        _SPREAD: not several or out.width >= _WIDE,
        _SWITCHES: switches and any(row.get("host_switches") is not None for row in rows),
    }
    shown = [column for column in columns if wanted.get(column, True)]
    grid = console.table(out, *shown, right=("bytes", *_FIGURES, _SWITCHES))
    previous = None
    for row in rows:
        point = _point(row)
        if several and previous is not None and point != previous:
            grid.add_section()
        place = _point_cells(row) if point != previous else ["", "", ""]
        cells = [*place, names[row["launcher"]], _algorithm(row), *_times(row), _switches(row)]
        named = zip(columns, cells, strict=True)
        grid.add_row(*(cell for column, cell in named if wanted.get(column, True)))
        previous = point
    return console.indented(grid)


def _algorithm(row: Row) -> Text:
    name = row["algorithm"] or "-"
    if row.get("checked") is False:
        return Text(f"{name}: WRONG DATA", style="bold red")
    return Text(name)


def _names(rows: Iterable[Row]) -> dict[str, str]:
    """Launcher to the name of its host; with the launcher where that does not tell all."""
    names = {row["launcher"]: row["host"] for row in rows}
    shared = [name for name in names.values() if list(names.values()).count(name) > 1]
    return {
        launcher: f"{name} ({launcher})" if name in shared or is_named(launcher) else name
        for launcher, name in names.items()
    }


def _point(row: Row) -> tuple:
    return row["collective"], row["bytes"], row["variant"]


def _point_cells(row: Row) -> list[str]:
    size = short_size(row["bytes"]) if row["bytes"] else "-"
    return [row["collective"], size, row["variant"]]


def _times(row: Row) -> list[Text]:
    ratio, low, high = (row.get(name) for name in ("ratio", "ratio_p10", "ratio_p90"))
    spread = "-" if low is None or high is None else f"{figure(low)} - {figure(high)}"
    return [
        Text(figure(row["host_us"])),
        Text(figure(row["sobor_us"])),
        Text(figure(ratio), style=_style(ratio)),
        Text(spread, style="dim"),
    ]


def _switches(row: Row) -> Text:
    both = [row.get("host_switches"), row.get("sobor_switches")]
    return Text("-" if both == [None, None] else " / ".join(map(figure, both)))


def figure(value: float | None) -> str:
    """A number with three digits that count: 0.412, 41.2, 4120."""
    if value is None:
        return "-"
    bounds = ((0.1, 4), (1, 3), (10, 2), (100, 1))
    return f"{value:.{next((digits for bound, digits in bounds if value < bound), 0)}f}"


def _style(ratio: float | None) -> str:
    if ratio is None:
        return "dim"
    return "bold green" if ratio > 1 + _NOISE else "bold red" if ratio < 1 - _NOISE else ""


def summary(rows: list[Row]) -> list[str]:
    """What the table says in a sentence for each host, and against the best of the hosts."""
    rows = [row for row in rows if row["collective"] != PASSTHROUGH]
    names = _names(rows)
    lines = []
    for launcher, name in names.items():
        ratios = [r["ratio"] for r in rows if r["launcher"] == launcher and r["ratio"]]
        if ratios:
            ahead = sum(ratio > 1 + _NOISE for ratio in ratios)
            mean = figure(geometric_mean(ratios))
            lines.append(
                f"{name}: Sobor is ahead in {ahead} of {len(ratios)}; "
                f"geometric mean of host/Sobor {mean}"
            )
    return [*lines, *_against_best(rows, names)]


def lines(rows: list[Row]) -> list[str]:
    """How near a barrier comes to the least that two ranks need to hear of each other."""
    return [
        f"{row['host']}: a cache line to the other rank and back takes {figure(row['line_us'])} "
        f"µs; Sobor's barrier {figure(row['sobor_us'] / row['line_us'])} of that"
        for row in rows
        if row["ranks"] == 2 and row.get("line_us") and row["sobor_us"]
    ]


def turns_needed(rows: list[Row], ranks: int, cores: int) -> list[str]:
    """What the column of switches has to be compared with."""
    if ranks <= cores or all(row.get("host_switches") is None for row in rows):
        return []
    return [
        "switches: how often a rank was switched in for a call, host / Sobor; "
        f"{ranks} ranks on {cores} cores need at least {figure(1 - cores / ranks)}"
    ]


def _against_best(rows: list[Row], names: dict[str, str]) -> list[str]:
    if len(names) < 2:
        return []
    best: dict[tuple, float] = {}
    for row in rows:
        best[_point(row)] = min(row["host_us"], best.get(_point(row), row["host_us"]))
    first = next(iter(names))
    ratios = [
        best[_point(row)] / row["sobor_us"]
        for row in rows
        if row["launcher"] == first and row["sobor_us"]
    ]
    if not ratios:
        return []
    level = sum(ratio >= 1 - _NOISE for ratio in ratios)
    return [
        f"Sobor on {names[first]} against the best host of each point: at least level in {level} "
        f"of {len(ratios)}, median ratio {figure(median(ratios))}"
    ]
