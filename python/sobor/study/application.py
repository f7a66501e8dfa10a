# SPDX-License-Identifier: BSD-3-Clause
"""The two applications of the paper on uneven arrival: computing and broadcast time, stacked.

The paper's three builds of each program are three settings of Sobor here: the host's broadcast,
fixed leaders of nodes, and whoever of a node comes first. In the simulator ranks come to each
broadcast within the width that the paper found in the program, and compute in between as long as
one update of the program's inner loop takes, times their number. Here the example program runs, and
what it does is read from its trace.
"""

import os
import random
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from sobor.bench.job import run_launch
from sobor.errors import SoborError
from sobor.launchers.options import split_words
from sobor.machines import find_machine
from sobor.run import prepare
from sobor.simulate.engine import check_engine, run_engine
from sobor.study.figure import Figure, Point, Run, Setting, number, size, text, words
from sobor.times import parse_time
from sobor.trace.run import VARIABLE as TRACE

CURVES = ("host", "p", "cp")
COMPUTING, BROADCAST, OTHER = "computing", "broadcast", "other collectives"
WIDTH = "width, µs"
_MODE = "SOBOR_CLUSTER_BCAST"
_TIME_LIMIT = 600


@dataclass(frozen=True)
class Program:
    """What the paper says of a program, and what follows for a run of it."""

    name: str
    title: str
    nodes: int  # N: rows, or vertices
    broadcasts: int
    width: str
    updates: int  # of all ranks, between two broadcasts


PROGRAMS = (
    Program("asp", "All-pairs shortest paths, N = 10240", 10240, 10240, "300us", 10240**2),
    # One of the 18 steps of a round goes through the matrix.
    Program("vcc", "Vertex collapse, N = 9216", 9216, 252, "200us", 9216**2 // 18),
)


def _settings(program: Program, machine: str) -> tuple[Setting, ...]:
    return (
        Setting("machine", machine, "a machine of sobor simulate --list, a file, or here", text),
        Setting("curves", ",".join(CURVES), "host, p (fixed leaders), cp (the first of a node)",
                words(*CURVES)),
        Setting("p", "p", f"what {_MODE} is for p", text),
        Setting("cp", "cp-chain", f"what {_MODE} is for cp", text),
        Setting("nodes", "16", "nodes, in the simulator", number()),
        Setting("ranks", "128", "processes, in the simulator", number(2)),
        Setting("bytes", str(4 * program.nodes), "of one broadcast", size),
        Setting("broadcasts", str(program.broadcasts), "of the program", number()),
        Setting("sample", "240", "broadcasts that are simulated", number()),
        Setting("arrival", f"uniform:{program.width}", "how late ranks come, as of sobor simulate",
                text),
        Setting("update", "1ns", "one update of the inner loop, in the simulator", parse_time),
        Setting("seed", "1", "of the simulator", number(0)),
        Setting("command", "", "with machine=here: a launcher and the example program", text),
    )  # fmt: skip


def _stacked(program: Program, run: Run) -> list[Point]:
    taken = {curve: _times(program, run, curve) for curve in run["curves"]}
    points = [
        Point(series, curve, seconds)
        for curve, times in taken.items()
        for series, seconds in times.items()
    ]
    for other in ("host", "p"):
        if other in taken and "cp" in taken:
            ratio = taken["cp"][BROADCAST] / taken[other][BROADCAST]
            points.append(Point(f"broadcast, cp / {other}", "ratio", ratio))
            whole = sum(taken["cp"].values()) / sum(taken[other].values())
            points.append(Point(f"whole program, cp / {other}", "ratio", whole))
    return points


def _times(program: Program, run: Run, curve: str) -> dict[str, float]:
    """Seconds of the mean rank, by what it does."""
    run.tell(f"{program.name}, {curve}")
    return _traced(run, curve)[0] if run.here else _simulated(program, run, curve)


def _simulated(program: Program, run: Run, curve: str) -> dict[str, float]:
    check_engine(run.native)
    machine = find_machine(run["machine"])
    spoken = ["bcast", "--machine", str(machine.path), "--nodes", str(run["nodes"])]
    spoken += ["--ranks", str(run["ranks"]), "--map", "core", "--bytes", str(run["bytes"])]
    spoken += ["--calls", str(min(run["sample"], run["broadcasts"])), "--warmup", "3"]
    spoken += ["--arrival", run["arrival"], "--root", "rotate", "--seed", str(run["seed"])]
    if curve == "host":
        spoken += ["--algorithm", "host-binomial"]
    else:
        spoken += ["--algorithm", "cluster", "--set", f"{_MODE}={run[curve]}"]
    (row,) = run_engine(run.native, tuple(spoken), None)
    each = run["update"] / 1e9 * program.updates / run["ranks"]
    return {
        COMPUTING: run["broadcasts"] * each,
        BROADCAST: run["broadcasts"] * row["rank_mean_us"] / 1e6,
    }


def _traced(run: Run, curve: str) -> tuple[dict[str, float], dict[int, float], float]:
    """Times of the mean rank, the mean arrival of each rank at the broadcasts, their width."""
    from sobor.trace.load import load  # noqa: PLC0415 - NumPy is slow to load

    load()
    with tempfile.TemporaryDirectory() as folder:
        _run_traced(run, _variables(run, curve), folder)
        return _read(folder)


def _variables(run: Run, curve: str) -> Mapping[str, str]:
    return {"SOBOR_COLLECTIVES": "none"} if curve == "host" else {_MODE: run[curve]}


def _run_traced(run: Run, variables: Mapping[str, str], folder: str) -> None:
    command = split_words(run["command"], "command")
    if not command:
        raise SoborError(
            "command: with machine=here expected a launcher and a program, found nothing",
            "such as --with 'command=mpirun -n 4 ./asp 1024'; the sources are in "
            "share/sobor/examples",
        )
    settings = [f"{name}={value}" for name, value in {**variables, TRACE: folder}.items()]
    outcome = run_launch(prepare(command, settings, os.environ), _TIME_LIMIT, lambda _row: None)
    if outcome.problem:
        raise SoborError(f"{run['command']}: {outcome.problem}")


def _read(folder: str) -> tuple[dict[str, float], dict[int, float], float]:
    from sobor.trace import analysis, files  # noqa: PLC0415 - NumPy is slow to load

    trace = files.read(folder)
    report = analysis.analyse(trace)
    shares = {row["name"]: row["share"] for row in report["operations"]}
    if "bcast" not in shares:
        raise SoborError("command: expected a program that broadcasts, found none of its calls")
    mean = trace.run / len(trace.ranks)
    broadcasts = analysis.analyse(trace, "bcast")
    arrival = {row["rank"]: row["arrival_us"]["mean"] for row in broadcasts["late"]}
    widest = fmean(row["width_us"]["p50"] for row in broadcasts["sites"])
    times = {
        COMPUTING: mean * (1 - report["share"]),
        BROADCAST: mean * shares["bcast"],
        OTHER: mean * (report["share"] - shares["bcast"]),
    }
    return times, arrival, widest


def _arrivals(run: Run) -> list[Point]:
    """The mean over all broadcasts of how late each rank came after the first; and their width."""
    if not run.here:
        return _drawn(run)
    points = []
    for curve in run["curves"]:
        run.tell(curve)
        _, arrival, width = _traced(run, curve)
        points += [Point(curve, float(rank), us) for rank, us in arrival.items()]
        points.append(Point(WIDTH, curve, width))
    return points


def _drawn(run: Run) -> list[Point]:
    """As the ranks of the simulated program come: nothing is measured."""
    kind, colon, time = run["arrival"].partition(":")
    if kind != "uniform" or not colon:
        raise SoborError(
            f"arrival: expected uniform:TIME where nothing runs, found {run['arrival']}",
            "a program's own arrivals: --with machine=here --with 'command=mpirun -n 4 ./asp 1024'",
        )
    most = parse_time(time, "arrival") / 1e3
    source = random.Random(run["seed"])
    calls = []
    for _ in range(run["sample"]):
        times = [source.uniform(0, most) for _ in range(run["ranks"])]
        calls.append([each - min(times) for each in times])
    means = [fmean(times) for times in zip(*calls, strict=True)]
    points = [Point("drawn", float(rank), us) for rank, us in enumerate(means)]
    return [*points, Point(WIDTH, "drawn", fmean(max(times) for times in calls))]


def _figures(program: Program) -> tuple[Figure, ...]:
    def stacked(run: Run) -> list[Point]:
        return _stacked(program, run)

    ratios = tuple(
        f"{part}, cp / {other}"
        for part in ("broadcast", "whole program")
        for other in ("host", "p")
    )
    return (
        Figure(
            program.name,
            program.title,
            "broadcast",
            "seconds",
            _settings(program, "cluster-16x8"),
            stacked,
            compare="ratio",
            short={"sample": "10"},
            beside=ratios,
            stacked=True,
        ),
        Figure(
            f"{program.name}-arrival",
            f"{program.title}: arrival at the broadcasts after the first",
            "rank",
            "µs",
            _settings(program, "cluster-16x8"),
            _arrivals,
            compare="ratio",
            short={"sample": "10"},
            beside=(WIDTH,),
            log=(0, 0),
        ),
    )


FIGURES: tuple[Figure, ...] = tuple(each for program in PROGRAMS for each in _figures(program))
