# SPDX-License-Identifier: BSD-3-Clause
"""Writes a report for the terminal; the words and figures are those of the page too."""

from typing import Any

from rich.console import Console
from rich.text import Text

from sobor import console
from sobor.bench.figures import figure, in_collectives, percent
from sobor.sizes import counted, short_size
from sobor.trace.otherwise import WAYS

Table = tuple[str, list[str], list[list[str]]]


def summary(report: dict[str, Any]) -> list[str]:
    """What there is to say first."""
    share, waiting = report["share"], report["waiting_share"]
    lines = [
        f"{counted(report['ranks'], 'rank')} on {_hosts(report['hosts'])} ran for"
        f" {report['seconds']:.3f} s and made {report['calls']} calls (counted on each rank).",
        f"They spent {percent(share)} of that time {in_collectives(share)}:"
        f" {percent(waiting)} waiting for the last to come, {percent(share - waiting)} moving"
        " data.",
    ]
    if report["sites"] and report["sites"][0]["waiting_us"] > 0:
        worst = report["sites"][0]
        lines.append(
            f"Most of the waiting is in {worst['collective']} at {worst['site']}: rank"
            f" {worst['latest_rank']} is the last in {percent(worst['latest_share'])} of its"
            f" {worst['calls']} calls, typically {_time(worst['latest_by_us'])} after all others."
        )
    error = report["clock_error_us"]
    if error is None:
        lines.append("Times of different hosts cannot be compared: see the notes.")
    elif error > 0:
        lines.append(f"Times of two hosts are right within {_time(error)}.")
    return lines


def _hosts(count: int) -> str:
    return "one host" if count == 1 else f"{count} hosts"


def _time(us: float) -> str:
    return f"{figure(us / 1e3)} ms" if us >= 1000 else f"{figure(us)} us"


def _share_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [
            row["name"],
            str(row["records"]),
            percent(row["share"]),
            percent(row["waiting_share"]),
            percent(row["moving_share"]),
            figure(row["mean_us"]),
        ]
        for row in rows
    ]


def tables(report: dict[str, Any]) -> list[Table]:
    """Every table: its title, its columns (those after the first word are numbers) and its rows."""
    columns = ["calls", "of run time", "waiting", "moving", "mean us"]
    result: list[Table] = [
        (title, [name, *columns], _share_rows(report[key]))
        for title, name, key in (
            ("Time in collectives by operation", "operation", "operations"),
            ("By size", "bytes", "sizes"),
            ("By communicator", "communicator", "communicators"),
        )
    ]
    others = (_algorithms, _sites, _ranks, _impact, _otherwise)
    return [*result, *(table(report) for table in others)]


def _algorithms(report: dict[str, Any]) -> Table:
    rows = [
        [f"{row['collective']} {row['algorithm']}", str(row["records"]), figure(row["mean_us"])]
        for row in report["algorithms"]
    ]
    return "Who served them", ["algorithm", "calls", "mean us"], rows


def _sites(report: dict[str, Any]) -> Table:
    rows = [
        [
            f"{row['collective']} {row['site']}",
            str(row["calls"]),
            *(figure(value) for value in row["width_us"].values()),
            str(row["latest_rank"]),
            percent(row["latest_share"]),
            figure(row["latest_by_us"]),
        ]
        for row in report["sites"]
    ]
    columns = ["call", "calls", "p10", "p50", "p90", "p99", "last", "how often", "by us"]
    return "Width of arrival in us, by call site", columns, rows


def _ranks(report: dict[str, Any]) -> Table:
    rows = [
        [
            f"{row['rank']} {row['host']}",
            *(figure(row["arrival_us"][name]) for name in ("mean", "p50", "p90")),
            str(row["last"]),
            percent(row["last_share"]),
            figure(row["held_up_us"] / 1e3),
            percent(row["share"]),
            percent(row["waiting_share"]),
        ]
        for row in sorted(report["late"], key=lambda row: -row["held_up_us"])
    ]
    columns = ["rank", "mean", "p50", "p90", "last", "how often", "held up ms", "in calls"]
    return "Arrival after the first in us, by rank", [*columns, "waiting"], rows


def _impact(report: dict[str, Any]) -> Table:
    rows = [
        [
            f"{row['collective']} of {row['ranks']}",
            short_size(row["bytes"]),
            str(row["calls"]),
            *(
                figure(row[key])
                for key in ("width_us", "transfer_us", "psi", "gamma", "measured_gamma")
            ),
        ]
        for row in report["impact"]
    ]
    columns = ["call", "bytes", "calls", "width us", "t(m) us", "Psi", "Gamma", "measured"]
    return "Unbalance degree and impact", columns, rows


def _otherwise(report: dict[str, Any]) -> Table:
    columns = ["communicator", "bytes", "nodes", "ranks", "calls", "traced", "fixed leaders"]
    rows = [
        [
            row["communicator"],
            short_size(row["bytes"]),
            *(str(row[key]) for key in ("nodes", "ranks", "calls")),
            *(figure(row[key]) for key in ("measured_us", *WAYS)),
        ]
        for row in report["otherwise"]
    ]
    names = sorted({row["machine"] for row in report["otherwise"]})
    title = f"Broadcasts otherwise, simulated on {', '.join(names)}: mean us of a rank"
    return title, [*columns, "first of a node", "ideal tree"], rows


def write(report: dict[str, Any], out: Console) -> None:
    """Writes the report."""
    for line in summary(report):
        out.print(Text(line))
    for note in report["notes"]:
        out.print(Text.assemble(("note: ", "bold yellow"), note))
    console.tables(out, tables(report), "--json or --html")
