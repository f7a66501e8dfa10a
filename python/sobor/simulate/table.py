# SPDX-License-Identifier: BSD-3-Clause
"""Shows the results of the simulator for people."""

import math
from collections.abc import Callable, Iterable
from statistics import fmean, stdev
from typing import Any

from rich.console import Console
from rich.text import Text

from sobor import console
from sobor.bench.table import figure
from sobor.machines import Machine
from sobor.simulate.engine import Row
from sobor.sizes import counted, short_size

# From near to far, as the simulator counts them.
DISTANCES = ("l2", "l3", "numa", "package", "machine", "memory")
_BAR = 30
#: Ranks outnumber cores: such times are of another kind.
TURNS = ": ranks take turns"


def write(rows: list[Row], machine: Machine, checks: bool, histogram: bool, out: Console) -> None:
    """One table for each number of ranks and size."""
    for (ranks, size), chosen in _grouped(rows, lambda row: (row["ranks"], row.get("bytes", 0))):
        console.heading(out, _title(chosen[0], machine, ranks, size))
        maps = list(dict.fromkeys(row["map"] for row in chosen))
        if checks:
            _checked(chosen, out)
        elif len(maps) > 1:
            _by_map(chosen, maps, out)
        else:
            _times(chosen, out)
        if histogram:
            _histogram(chosen, out)
    if not checks:
        out.print(
            f"  simulated; {len(machine.assumed)} of {len(machine.parameters)} numbers of "
            f"{machine.name} are assumed: sobor simulate --list {machine.name}"
        )


def _grouped(rows: Iterable[Row], key: Callable[[Row], Any]) -> list[tuple[Any, list[Row]]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.items())


def _title(row: Row, machine: Machine, ranks: int, size: int) -> str:
    of_size = f" of {short_size(size)} bytes" if size else ""
    arrival = row.get("arrival") or "none"
    late = "" if arrival == "none" else f", arrival {arrival}"
    nodes = row.get("nodes", 1)
    turns = TURNS if row.get("oversubscribed") else ""
    where = f"{nodes} of " if 1 < nodes < machine.nodes else ""
    of_ranks = f"{counted(ranks, 'rank')} on {where}{machine.title}{late}{turns}"
    return f"{row['collective']}{of_size}, {of_ranks}"


#: What a program feels of uneven arrival: each rank's own mean, of all ranks.
_RANKS = "mean of ranks µs"


def _best(rows: list[Row]) -> float:
    return min((row["median_us"] for row in rows if row["median_us"] is not None), default=0.0)


def _time(value: float | None, best: float) -> Text:
    return console.best(figure(value), value == best)


def _times(rows: list[Row], out: Console) -> None:
    messages = any(row.get("messages") for row in rows)
    uneven = any(row.get("arrival", "none") != "none" for row in rows)
    columns = ["algorithm", "median µs", "p10 - p90", "max µs"]
    columns += [*([_RANKS] if uneven else []), *(["messages"] if messages else [])]
    grid = console.table(out, *columns, right=tuple(columns[1:]))
    best = _best(rows)
    for row in rows:
        spread = f"{figure(row.get('p10_us'))} - {figure(row.get('p90_us'))}"
        cells = [Text(row["algorithm"]), _time(row["median_us"], best), Text(spread, style="dim")]
        cells.append(Text(figure(row["max_us"])))
        if uneven:
            cells.append(Text(figure(row.get("rank_mean_us"))))
        grid.add_row(*cells, *([Text(str(row.get("messages", 0)))] if messages else []))
    out.print(console.indented(grid))
    out.print(
        f"  ranks by {rows[0]['map']}, {counted(rows[0]['calls'], 'call')}, seed {rows[0]['seed']}"
    )


def _by_map(rows: list[Row], maps: list[str], out: Console) -> None:
    """Medians with a column for each mapping, and how much they differ."""
    heads = [f"by {mapping}, µs" for mapping in maps]
    grid = console.table(out, "algorithm", *heads, "variation", right=(*heads, "variation"))
    best = {mapping: _best([row for row in rows if row["map"] == mapping]) for mapping in maps}
    for algorithm, chosen in _grouped(rows, lambda row: row["algorithm"]):
        times = {row["map"]: row["median_us"] for row in chosen}
        cells = [_time(times.get(mapping), best[mapping]) for mapping in maps]
        grid.add_row(Text(algorithm), *cells, Text(_variation(list(times.values()))))
    out.print(console.indented(grid))
    out.print(f"  medians of {counted(rows[0]['calls'], 'call')}, seed {rows[0]['seed']}")


def _variation(times: list[float | None]) -> str:
    known = [time for time in times if time is not None]
    if len(known) < 2 or fmean(known) == 0:
        return "-"
    return f"{100 * stdev(known) / fmean(known):.1f} %"


def faults(row: Row) -> list[str]:
    """What was found wrong, one text for each."""
    found = row.get("violations") or []
    if isinstance(found, int):
        return [row.get("report") or "the simulator gave no report"] if found else []
    return [fault if isinstance(fault, str) else _fault_text(fault) for fault in found]


def _fault_text(fault: dict[str, Any]) -> str:
    if isinstance(fault.get("text"), str):
        return fault["text"]
    return "; ".join(f"{key}: {value}" for key, value in fault.items())


def _checked(rows: list[Row], out: Console) -> None:
    grid = console.table(
        out, "algorithm", "map", "schedules", "faults", right=("schedules", "faults")
    )
    for row in rows:
        count = len(faults(row))
        shown = Text(str(count), style="bold red" if count else "green")
        schedules = str(row.get("schedules") or 1)
        grid.add_row(Text(row["algorithm"]), row["map"], schedules, shown)
    out.print(console.indented(grid))
    for row in rows:
        for fault in faults(row):
            out.print(Text(f"  {row['algorithm']}, ranks by {row['map']}:", style="bold red"))
            out.print(console.indented(Text(fault), 4))


def _histogram(rows: list[Row], out: Console) -> None:
    """Lines that were moved in one call; distances that nothing crosses are left out."""
    counted = [row for row in rows if row.get("lines")]
    crossed = [name for name in DISTANCES if any(_per_call(row, name) for row in counted)]
    most = max((_total(row) for row in counted), default=0)
    console.heading(out, "Cache lines moved in one call, by the distance they cross")
    grid = console.table(out, "algorithm", "map", *crossed, "", right=tuple(crossed))
    for row in counted:
        counts = [f"{_per_call(row, name):.1f}" for name in crossed]
        bar = "█" * math.ceil(_BAR * _total(row) / most) if most else ""
        grid.add_row(Text(row["algorithm"]), row["map"], *counts, Text(bar, style="cyan"))
    out.print(console.indented(grid))


def _total(row: Row) -> float:
    return sum(_per_call(row, name) for name in DISTANCES)


def _per_call(row: Row, distance: str) -> float:
    return row["lines"].get(distance, 0) / max(row["calls"], 1)
