# SPDX-License-Identifier: BSD-3-Clause
"""`sobor model efficiency`: reads a program's calls, and writes forecasts."""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console

from sobor import console, outputs
from sobor.bench.figures import figure
from sobor.errors import SoborError
from sobor.machines import network_file_of
from sobor.model.efficiency import Call, Costs, Program, rows
from sobor.native import find_native
from sobor.sizes import parse_counts, parse_size
from sobor.times import parse_time

_BY_HAND = re.compile(r"([a-z_]+):(\w+)x(\d+)")
_NAMES = (
    *("barrier", "bcast", "scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv"),
    *("alltoall", "alltoallv", "alltoallw", "reduce", "allreduce", "reduce_scatter"),
    *("reduce_scatter_block", "scan", "exscan"),
)


@dataclass(frozen=True)
class Wanted:
    """The options of `sobor model efficiency`."""

    calls: str
    ranks: str = "1,2,4,8"
    t1: str | None = None
    operations: float | None = None
    flops: float | None = None
    per_node: int | None = None
    machine: str | None = None
    plot: str | None = None


def efficiency(wanted: Wanted, json_file: str | None) -> None:
    """Writes the forecasts."""
    outputs.check(json_file, wanted.plot)
    ranks = parse_counts(wanted.ranks, "--ranks")
    network = None if wanted.machine is None else network_file_of(wanted.machine)
    program = _program(wanted)
    answers = rows(program, ranks, Costs(find_native(), network))
    if wanted.plot:
        from sobor.model.efficiency_plot import draw  # noqa: PLC0415 - Matplotlib takes a second

        draw(answers, Path(wanted.plot))
    write = partial(_write, program, answers, console.out())
    outputs.show(answers, json_file, write, wanted.plot)


def _program(wanted: Wanted) -> Program:
    """T_1 as given, or by operations, or what the ranks of a trace computed together."""
    place = Path(wanted.calls)
    traced = _traced(wanted.calls) if place.exists() else Program(0.0, _by_hand(wanted.calls))
    return Program(_t1(wanted, traced.t1), traced.calls, wanted.per_node or traced.per_node)


def _t1(wanted: Wanted, traced: float) -> float:
    if wanted.t1 is not None:
        return parse_time(wanted.t1, "--t1") / 1e9
    if wanted.operations is not None and wanted.flops is not None:
        return wanted.operations / wanted.flops
    if traced <= 0:
        raise SoborError(
            "the time of one rank is needed: --t1, or --operations with --flops",
            "a trace tells it too: --calls DIR",
        )
    return traced


def _by_hand(text: str) -> list[Call]:
    calls = []
    for word in text.split(","):
        match = _BY_HAND.fullmatch(word.strip())
        if match is None or match[1] not in _NAMES:
            raise SoborError(
                f"--calls: expected a folder that sobor trace wrote, or calls such as "
                f'bcast:4Kx1024,barrier:0x10, found "{word}"'
            )
        calls.append(Call(match[1], parse_size(match[2], "--calls"), int(match[3])))
    return calls


def _numpy_parts() -> tuple[ModuleType, ModuleType]:
    """What reads traces needs numpy."""
    from sobor.trace.load import load  # noqa: PLC0415

    load()
    from sobor.trace import analysis, files  # noqa: PLC0415

    return files, analysis


def _traced(place: str) -> Program:
    """Calls of the rank that made most, by operation and class of sizes."""
    files, analysis = _numpy_parts()
    trace = files.read(place)
    records = trace.calls
    if records.size == 0:
        raise SoborError(f"--calls: {place}: no call was recorded")
    inside = float((records["left"] - records["entered"]).sum()) / 1e9
    most = max(trace.ranks, key=lambda rank: int((records["rank"] == rank).sum()))
    mine = records[records["rank"] == most]
    groups: dict[tuple[int, int], list[int]] = {}
    for kind, group, size in zip(
        mine["collective"], analysis.size_class(mine["bytes"]), mine["bytes"], strict=True
    ):
        groups.setdefault((int(kind), int(group)), []).append(max(0, int(size)))
    calls = [
        Call(files.COLLECTIVES[kind], sorted(sizes)[len(sizes) // 2], len(sizes))
        for (kind, _), sizes in sorted(groups.items())
    ]
    hosts = len(set(trace.hosts.values()))
    return Program(max(0.0, trace.run - inside), calls, max(1, trace.size // hosts))


def _write(program: Program, answers: list[dict[str, Any]], out: Console) -> None:
    console.heading(out, f"T_1 {figure(program.t1)} s, {program.per_node} ranks a node")
    for call in program.calls:
        out.print(f"  {call.count:.0f} {call.collective} of {call.size} bytes")
    numbers = ("ranks", "nodes", "T_comp s", "T_comm s", "S", "E", "host's T_comm s", "S ", "E ")
    grid = console.table(out, *numbers, right=numbers)
    keys = ("t_comp_s", "t_comm_s", "speedup", "efficiency")
    keys += tuple(f"host_{key}" for key in keys[1:])
    for row in answers:
        grid.add_row(str(row["ranks"]), str(row["nodes"]), *(figure(row[key]) for key in keys))
    out.print(console.indented(grid))
    out.print(
        "  T_comm is that of calls that all enter at once; waiting for late ranks is not in it"
    )
