# SPDX-License-Identifier: BSD-3-Clause
"""`sobor model efficiency`: reads a program's calls, and writes forecasts."""

import os
import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from sobor import console, outputs
from sobor.bench.figures import figure
from sobor.errors import SoborError
from sobor.machines import network_file_of, read_machine
from sobor.model.efficiency import Call, Costs, Program, rows
from sobor.native import find_native
from sobor.profile.files import COLLECTIVES
from sobor.sizes import counted, parse_counts, parse_size
from sobor.times import parse_time

_ADDED = "is that of calls that all enter at once; waiting for late ranks is not in it"
_PLAYED = "is what calls add to the computing when all are played again with their clocks"
_BY_HAND = re.compile(r"([a-z_]+):(\w+)x(\d+)")


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
    program = _program(wanted)
    answers = rows(program, ranks, _costs(wanted.machine))
    if wanted.plot:
        from sobor.model.efficiency_plot import draw  # noqa: PLC0415 - Matplotlib takes a second

        draw(answers, Path(wanted.plot))
    write = partial(_write, program, answers, console.out())
    outputs.show(answers, json_file, write, wanted.plot)


def _costs(machine: str | None) -> Costs:
    """By the network of a machine, if one is named."""
    if machine is None:
        return Costs(find_native(), None)
    network = network_file_of(machine)
    switch = read_machine(Path(network)).parameters.get("net_switch")
    return Costs(find_native(), network, switch is not None and switch.value == "star")


def _program(wanted: Wanted) -> Program:
    """T_1 as given, or by operations, or what the ranks of a trace computed together."""
    # A long list of calls is no name of a file: for os.path such a file does not exist.
    traced = (
        _traced(wanted.calls)
        if os.path.exists(wanted.calls)
        else Program(0.0, _by_hand(wanted.calls))
    )
    t1, course = _t1(wanted, traced.t1), traced.course
    if course is not None and traced.t1 > 0:
        course = course.scaled(t1 / traced.t1)
    return Program(t1, traced.calls, wanted.per_node or traced.per_node, course)


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
        if match is None or match[1] not in COLLECTIVES:
            raise SoborError(
                f"--calls: expected a folder that sobor trace wrote, or calls such as "
                f'bcast:4Kx1024,barrier:0x10, found "{word}"'
            )
        calls.append(Call(match[1], parse_size(match[2], "--calls"), int(match[3])))
    return calls


def _traced(place: str) -> Program:
    """What its ranks computed, and the course of its calls."""
    from sobor.trace.load import load  # noqa: PLC0415 - what reads traces needs numpy

    load()
    from sobor.model.course import course_of  # noqa: PLC0415
    from sobor.trace import files  # noqa: PLC0415

    trace = files.read(place)
    if trace.calls.size == 0:
        raise SoborError(f"--calls: {place}: no call was recorded")
    course = course_of(trace)
    counts = Counter((step.collective, step.size) for step in course.steps)
    calls = [Call(*kind, count) for kind, count in sorted(counts.items())]
    hosts = len(set(trace.hosts.values()))
    return Program(course.computing, calls, max(1, trace.size // hosts), course)


def _write(program: Program, answers: list[dict[str, Any]], out: Console) -> None:
    console.heading(out, f"T_1 {figure(program.t1)} s, {counted(program.per_node, 'rank')} a node")
    for call in program.calls:
        out.print(f"  {call.count:.0f} {call.collective} of {call.size} bytes")
    numbers = ("ranks", "nodes", "T_comp s", "T_comm s", "S", "E", "host's T_comm s", "S ", "E ")
    grid = console.table(out, *numbers, right=numbers)
    keys = ("t_comp_s", "t_comm_s", "speedup", "efficiency")
    keys += tuple(f"host_{key}" for key in keys[1:])
    for row in answers:
        grid.add_row(str(row["ranks"]), str(row["nodes"]), *(figure(row[key]) for key in keys))
    out.print(console.indented(grid))
    out.print(f"  T_comm {_ADDED if program.course is None else _PLAYED}")
