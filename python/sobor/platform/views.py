# SPDX-License-Identifier: BSD-3-Clause
"""Writes a platform for people."""

from typing import Any

from rich.console import Console

from sobor import console
from sobor.bench.figures import figure
from sobor.model.allgather import SWITCHES, Link
from sobor.model.allgather_answers import advice
from sobor.sizes import counted, short_size

_WIDTH = 34
_GIGA = 1e9


def _line(out: Console, name: str, spread: dict[str, Any], unit: str, factor: float = 1.0) -> None:
    value, low, high = (spread[key] * factor for key in ("value", "p10", "p90"))
    text = f"{figure(value)} {unit}  ({figure(low)} - {figure(high)})"
    console.line(out, name, text, _WIDTH)


def write(answers: dict[str, Any], out: Console) -> None:
    """Every part of the answers."""
    job = answers["job"]
    console.heading(
        out, f"{job['host']}, {counted(job['ranks'], 'rank')}, {counted(job['nodes'], 'node')}"
    )
    for how in ("dependent", "independent"):
        for cores in ("one", "all"):
            name = f"FLOPS, {how}, {cores} core{'' if cores == 'one' else 's'}"
            _line(out, name, answers["flops"][f"{how}_{cores}"], "G", 1 / _GIGA)
    if "ts_us" in answers:
        _network(answers, out)
        _forecasts(answers["forecasts"], out)
        _advice(answers, out)


def _network(answers: dict[str, Any], out: Console) -> None:
    for title, fitted in (("least squares", answers), ("two points", answers["two_points"])):
        _line(out, f"t_s, {title}", fitted["ts_us"], "us")
        _line(out, f"t_w of 4 bytes, {title}", fitted["tw_us"], "us")
    _line(out, "bandwidth", answers["bandwidth"], "GB/s", 1 / _GIGA)
    _line(out, "both ways at once", answers["exchange"], "GB/s", 1 / _GIGA)
    _line(out, "of a node, all pairs", answers["injection"], "GB/s", 1 / _GIGA)
    _line(out, "lanes", answers["lanes"], "")
    _line(out, "overhead of a message", answers["overhead_us"], "us")
    _line(out, "eager limit", answers["eager_bytes"], "bytes")
    switch = answers["switch"]
    text = f"{switch['value']}: {switch['pairs']} pairs move {switch['ratio']:.2f} times the "
    console.line(out, "switch", f"{text}bytes of one", _WIDTH)
    _line(out, "exits of MPI_Barrier apart", answers["barrier_precision_us"], "us")
    reference = answers["reference_precision_us"]
    _line(out, f"of {reference['by']}", reference, "us")


def _forecasts(rows: list[dict[str, Any]], out: Console) -> None:
    if not rows:
        return
    console.heading(out, "Forecasts beside what was measured")
    columns = ("collective", "bytes", "forecast us", "measured us")
    grid = console.table(out, *columns, right=columns[1:])
    for row in rows:
        times = (figure(row[key]) for key in ("forecast_us", "measured_us"))
        grid.add_row(row["collective"], short_size(row["bytes"]), *times)
    out.print(console.indented(grid))


def _advice(answers: dict[str, Any], out: Console) -> None:
    job, kind = answers["job"], answers["switch"]["value"]
    ends = job["nodes"] if job["nodes"] > 1 else job["ranks"]
    link = Link(answers["ts_us"]["value"], answers["tw_us"]["value"])
    console.heading(out, "Advice for an all-gather, of elements of 4 bytes")
    for switch in (kind,) if kind in SWITCHES else SWITCHES:
        for line in advice(link, ends, switch):
            out.print(f"  {line}")
    if "crossing_elements" in answers:
        _crossing(answers["crossing_elements"], out)


def _crossing(found: dict[str, Any], out: Console) -> None:
    columns = ("BAGDS is ahead of each-with-each up to", "elements a rank")
    grid = console.table(out, *columns, right=columns[1:])
    names = {
        "model": "by the formulas of a star",
        "measured": "measured, with the (p - 1)^2 transfers of the formulas",
        "whole": "measured, with all that it needs",
    }
    for name, text in names.items():
        grid.add_row(text, "any" if found[name] is None else figure(found[name]))
    out.print(console.indented(grid))
