# SPDX-License-Identifier: BSD-3-Clause
"""Words and tables about a profile, a comparison or an estimate: of the terminal and the page."""

import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from sobor import console, outputs
from sobor.bench.figures import figure, in_collectives, percent, plain
from sobor.profile.sums import of_any_rank
from sobor.sizes import counted, human_size
from sobor.times import short_time

Table = tuple[str, list[str], list[list[str]]]


def kind_of(result: dict[str, Any]) -> str | None:
    """Which of the three it is; None: none."""
    lists = {"comparison": "operations", "estimate": "points", "profile": "calls"}
    fields = {"comparison": "ratio_low", "estimate": "predicted_ms", "profile": "members"}
    for kind, name in lists.items():
        rows = result.get(name)
        if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
            where = [result] if kind == "comparison" else rows
            if all(fields[kind] in row for row in where):
                return kind
    return None


def ranks_on(result: dict[str, Any]) -> str:
    """How many ranks, on which MPI."""
    return f"{counted(result['ranks'], 'rank')} on {result['host']}"


def call_name(row: dict[str, Any]) -> str:
    """Operation, size class and communicator of a row."""
    size = f" {human_size(row['bytes'])}" if row["bytes"] else ""
    return f"{row['operation']}{size}, {row['communicator']}"


def waiting_us(row: dict[str, Any]) -> float:
    """Microseconds that a rank waited in all of these calls; 0 where it is not known."""
    return min(row["total_us_mean"], (row["wait_us_mean"] or 0.0) * row["calls"])


def summary(result: dict[str, Any]) -> list[str]:
    """What there is to say first."""
    return {"comparison": _of_comparison, "estimate": _of_estimate, "profile": _of_profile}[
        kind_of(result)
    ](result)


def _of_profile(result: dict[str, Any]) -> list[str]:
    rows = of_any_rank(result)
    calls = sum(row["calls"] for row in rows)
    served = sum(row["calls"] for row in rows if row["served"])
    inside = sum(row["total_us_mean"] for row in rows) / 1e6
    waiting = sum(map(waiting_us, rows)) / 1e6
    share = inside / result["wall_s"]
    lines = [
        f"{ranks_on(result)} ran for {result['wall_s']:.3f} s from MPI_Init to MPI_Finalize and"
        f" spent {percent(share)} of that {in_collectives(share)}:"
        f" {percent(waiting / result['wall_s'])} waiting for the last to come,"
        f" {percent((inside - waiting) / result['wall_s'])} moving data.",
        f"Sobor served {plain(served)} of {plain(calls)} collective calls of a rank.",
    ]
    if not served and calls:
        lines.append("What Sobor would gain here: sobor estimate says it, of the file of --json.")
    return lines


def verdict(result: dict[str, Any]) -> str:
    """What a comparison comes to, in a word."""
    low, high = result["ratio_low"], result["ratio_high"]
    if low is None or high is None:
        return "one round alone does not tell gain from chance"
    if low > 1:
        return "faster with Sobor"
    return "slower with Sobor" if high < 1 else "no difference beyond chance"


def _of_comparison(result: dict[str, Any]) -> list[str]:
    low, high = result["ratio_low"], result["ratio_high"]
    within = "" if None in (low, high) else f" (95 % interval {low:.3f} to {high:.3f})"
    host, sobor = (sum(result[key]) / result["rounds"] for key in ("host_s", "sobor_s"))
    first = verdict(result)
    return [
        f"{first[0].upper()}{first[1:]}: host over Sobor, wall time of the whole command,"
        f" {result['ratio']:.3f}{within}.",
        f"{ranks_on(result)}, {counted(result['rounds'], 'round')} in turn: {host:.3f} s with the"
        f" host alone, {sobor:.3f} s with Sobor.",
    ]


def _of_estimate(result: dict[str, Any]) -> list[str]:
    now, then = result["collective_s"], result["predicted_s"]
    return [
        f"Sobor would bring {now:.3f} s in collectives to about {then:.3f} s, and"
        f" {result['wall_s']:.3f} s of run time to about {result['wall_s'] - now + then:.3f} s.",
        f"{ranks_on(result)}. What was measured here covers {percent(result['covered'])} of the"
        " time in which the host's collectives moved data; for the rest, and for waiting until the"
        " last has come, nothing is gained or lost.",
        f"Of it {short_time(result.get('set_up_s', 0.0))} is what Sobor sets up, once, in the first"
        " calls of each communicator: as much in a long run as in a short one.",
    ]


def tables(result: dict[str, Any]) -> list[Table]:
    """Every table: title, columns (numbers but for the first) and rows."""
    kind = kind_of(result)
    if kind == "comparison":
        return [_operations(result)]
    if kind == "estimate":
        return [_set_up(result), _points(result)]
    return [_calls(result), _others(result)]


def _calls(result: dict[str, Any]) -> Table:
    rows = [
        [
            call_name(row),
            "Sobor" if row["served"] else "host",
            plain(row["calls"]),
            *(figure(row[f"total_us_{name}"] / 1e3) for name in ("min", "mean", "max")),
            figure(row["wait_us_mean"]),
            percent(row["total_us_mean"] / 1e6 / result["wall_s"]),
        ]
        for row in result["calls"]
    ]
    columns = ["call", "by", "calls", "min ms", "mean ms", "max ms", "waits us", "of run time"]
    return "Time in collectives: sums of one rank, and its waiting in one call", columns, rows


def _others(result: dict[str, Any]) -> Table:
    rows = [[row["function"], str(row["calls"])] for row in result["other"]]
    return "Other calls of the program, which are the host's", ["function", "calls"], rows


def _operations(result: dict[str, Any]) -> Table:
    rows = [
        [
            row["operation"],
            figure(row["host_s"] * 1e3),
            figure(row["sobor_s"] * 1e3),
            figure(row["host_s"] / row["sobor_s"] if row["sobor_s"] else None),
        ]
        for row in result["operations"]
    ]
    columns = ["operation", "host ms", "Sobor ms", "host / Sobor"]
    return "Time of a rank in collectives, mean of the rounds", columns, rows


def _set_up(result: dict[str, Any]) -> Table:
    rows = [
        [
            ", ".join((kind["communicator"], *kind["operations"])),
            f"{kind['number']}",
            figure(kind["first_us"] / 1e3),
            figure(kind["set_up_ms"]),
        ]
        for kind in result.get("set_up", [])
    ]
    columns = ["communicator", "of them", "each ms", "a rank ms"]
    return "Set up once, in first calls", columns, rows


def _points(result: dict[str, Any]) -> Table:
    rows = [
        [
            call_name(row),
            figure(row["total_ms"]),
            figure(row["wait_ms"]),
            figure(row["ratio"]),
            figure(row["predicted_ms"]),
        ]
        for row in result["points"]
    ]
    columns = ["call", "now ms", "waiting ms", "host / Sobor", "predicted ms"]
    return "By call", columns, rows


def write(result: dict[str, Any], out: Console) -> None:
    """Writes the words and the tables."""
    for line in summary(result):
        out.print(Text(line))
    console.tables(out, tables(result), "--json")


def show(result: dict[str, Any], json_file: str | None, out: Console) -> None:
    """Writes the result as --json says, or for people."""
    outputs.show(result, json_file, lambda: write(result, out))
    if json_file not in (None, "-"):
        print(f"a page of it: sobor report {json_file}", file=sys.stderr)
