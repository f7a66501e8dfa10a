# SPDX-License-Identifier: BSD-3-Clause
"""Shows the rows of the bench for people."""

from collections.abc import Iterable
from itertools import chain
from statistics import geometric_mean, median

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from sobor import console
from sobor.bench.figures import figure, point_cells, way
from sobor.bench.job import Row
from sobor.bench.peers import is_named
from sobor.bench.request import PASSTHROUGH
from sobor.bench.schedule import point_of
from sobor.bench.skew import SIDES, is_skewed
from sobor.sizes import counted

# A ratio this near to 1 is noise.
_NOISE = 0.05
# A line's time that changed by more within a run changes what can be reached.
_STEADY = 1.2
_SPREAD = "p10 - p90"
_SWITCHES = "switches"
_METHOD = "method"
_LARGEST = "largest µs"
_SKEWED = " *"
_CHANGED = " ~"
_FIGURES = ("host µs", "Sobor µs", "ratio", _SPREAD)
# A narrower terminal has no room for the spread beside the name of the host.
_WIDE = 104


def write(rows: list[Row], out: Console) -> None:
    """One table for each number of ranks, each with a summary."""
    for ranks in dict.fromkeys(row["ranks"] for row in rows):
        chosen = [row for row in rows if row["ranks"] == ranks]
        console.heading(out, title(chosen))
        out.print(_table(chosen, out))
        said = [summary(chosen), skewed(chosen), changed(chosen), windows(chosen), lines(chosen)]
        for line in [*chain(*said), *turns_needed(chosen)]:
            out.print(f"  {line}")


def title(rows: list[Row]) -> str:
    """How many ranks, and on what, as they found it."""
    ranks, nodes, processors = (rows[0][name] for name in ("ranks", "nodes", "processors"))
    turns = ": ranks take turns" if take_turns(rows) else ""
    place = f"{processors} processors" + (f" of {nodes} nodes" if nodes > 1 else "")
    return f"{counted(ranks, 'rank')} on {place}{turns}"


def take_turns(rows: list[Row]) -> bool:
    """Whether ranks share processors."""
    return any(row["oversubscribed"] for row in rows)


def _table(rows: list[Row], out: Console) -> Padding:
    names = _names(rows)
    several = len(names) > 1
    columns = ["collective", "bytes", "buffers", _METHOD, "host", "algorithm", *_FIGURES]
    columns += [_LARGEST, _SWITCHES]
    wanted = {
        _METHOD: len(_methods(rows)) > 1,
        "host": several,
        _LARGEST: any(row.get("host_max_us") is not None for row in rows),
        _SPREAD: not several or out.width >= _WIDE,
        _SWITCHES: take_turns(rows) and any(row.get("host_switches") is not None for row in rows),
    }
    shown = [column for column in columns if wanted.get(column, True)]
    grid = console.table(out, *shown, right=("bytes", *_FIGURES, _LARGEST, _SWITCHES))
    previous = None
    for row in rows:
        point = point_of(row)
        if several and previous is not None and point != previous:
            grid.add_section()
        place = [*point_cells(row), way(row)] if point != previous else [""] * 4
        cells = [*place, names[row["launcher"]], _algorithm(row), *_times(row)]
        cells += [_both(row, "max_us"), _both(row, "switches")]
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


def _methods(rows: Iterable[Row]) -> list[str]:
    """The methods of the rows; single twice, where it was measured behind both barriers."""
    return list(dict.fromkeys(_method(row) for row in rows if row.get("method")))


def _method(row: Row) -> str:
    return way(row) if row.get("method") == "single" else row.get("method") or ""


def _times(row: Row) -> list[Text]:
    ratio, low, high = (row.get(name) for name in ("ratio", "ratio_p10", "ratio_p90"))
    spread = "-" if low is None or high is None else f"{figure(low)} - {figure(high)}"
    return [
        Text(figure(row["host_us"])),
        Text(figure(row["sobor_us"])),
        Text(figure(ratio) + _marks(row), style=_style(ratio)),
        Text(spread, style="dim"),
    ]


def _marks(row: Row) -> str:
    return _SKEWED * is_skewed(row) + _CHANGED * is_outside(row)


def is_outside(row: Row) -> bool:
    """Whether the ratio of the medians lies outside the spread of the ratios of the blocks."""
    ratio, low, high = (row.get(name) for name in ("ratio", "ratio_p10", "ratio_p90"))
    return None not in (ratio, low, high) and not low <= ratio <= high


def _both(row: Row, name: str) -> Text:
    both = [row.get(f"{side}_{name}") for side in SIDES]
    return Text("-" if both == [None, None] else " / ".join(map(figure, both)))


def _style(ratio: float | None) -> str:
    if ratio is None:
        return "dim"
    return "bold green" if ratio > 1 + _NOISE else "bold red" if ratio < 1 - _NOISE else ""


def summary(rows: list[Row]) -> list[str]:
    """What the table says in a sentence for each host, and against the best of the hosts."""
    rows = [row for row in rows if row["collective"] != PASSTHROUGH]
    names, methods = _names(rows), _methods(rows)
    if len(methods) < 2:
        return _summary(rows, names)
    return [
        f"{each}: {line}"
        for each in methods
        for line in _summary([row for row in rows if _method(row) == each], names)
    ]


def _summary(rows: list[Row], names: dict[str, str]) -> list[str]:
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


def skewed(rows: list[Row]) -> list[str]:
    """What the mark behind a ratio means."""
    if not any(map(is_skewed, rows)):
        return []
    return [
        "* the barrier before the call let ranks go one after the other: a third of the call or "
        "more was over before the slowest rank began; see --explain, --sync common"
    ]


def changed(rows: list[Row]) -> list[str]:
    """What the other mark behind a ratio means."""
    if not any(map(is_outside, rows)):
        return []
    return [
        "~ the ratio of the medians lies outside its own spread: the machine changed while this "
        "was measured; measure again"
    ]


def windows(rows: list[Row]) -> list[str]:
    """Which calls could not begin at their time."""
    chosen = [row for row in rows if row.get("method") == "window"]
    late = [sum(row.get(f"{side}_late") or 0 for row in chosen) for side in SIDES]
    if chosen and all(row["host_us"] is None for row in chosen) and not any(late):
        return ["window: not measured, since all can begin at one time on a processor each only"]
    if not any(late):
        return []
    return [f"window: calls left out because they began late: host {late[0]}, Sobor {late[1]}"]


def lines(rows: list[Row]) -> list[str]:
    """The least that two ranks need to hear of each other, and how near a barrier of two comes."""
    names = _names(rows)
    said = []
    for launcher, name in names.items():
        timed = [row for row in rows if row["launcher"] == launcher and row.get("line_us")]
        if not timed:
            continue
        times = [row["line_us"] for row in timed]
        usual = figure(median(times))
        text = f"{name}: a cache line from rank 0 to rank 1 and back takes {usual} µs"
        if max(times) > _STEADY * min(times):
            text += f" ({figure(min(times))} to {figure(max(times))})"
        barriers = [row for row in timed if row["collective"] == "barrier" and row["sobor_us"]]
        if barriers and barriers[0]["ranks"] == 2:
            share = barriers[0]["sobor_us"] / barriers[0]["line_us"]
            text += f"; Sobor's barrier {figure(share)} of that"
        said.append(text)
    return said


def turns_needed(rows: list[Row]) -> list[str]:
    """What the column of switches has to be compared with."""
    if not take_turns(rows) or all(row.get("host_switches") is None for row in rows):
        return []
    least = max(0.0, 1 - rows[0]["processors"] / rows[0]["ranks"])
    return [
        "switches: how often a rank was switched in for a call, host / Sobor; "
        f"one in which each waits for all needs at least {figure(least)}"
    ]


def _against_best(rows: list[Row], names: dict[str, str]) -> list[str]:
    if len(names) < 2:
        return []
    best: dict[tuple, float] = {}
    for row in rows:
        if row["host_us"]:
            point = point_of(row)
            best[point] = min(row["host_us"], best.get(point, row["host_us"]))
    first = next(iter(names))
    ratios = [
        best[point_of(row)] / row["sobor_us"]
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
