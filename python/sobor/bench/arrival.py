# SPDX-License-Identifier: BSD-3-Clause
"""The study of uneven arrival: one collective whose ranks come late by random times.

As the published micro-benchmark: a barrier, a delay drawn from 0 to the width, the call, timed
alone; each rank's mean first, then the largest of these, and beside it the mean of all ranks, which
is what a program feels.
"""

import csv
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from sobor import console, outputs
from sobor.bench.experiments import KIB
from sobor.bench.figures import figure
from sobor.bench.job import Job, plan_job, run_launch, time_limit
from sobor.bench.place import count_ranks, make_folder, target_here
from sobor.bench.request import SIZELESS, Request, parse_collectives, split_algorithm
from sobor.errors import SoborError
from sobor.machines import find_machine
from sobor.native import Native
from sobor.progress import bar
from sobor.simulate.engine import check_engine, run_engine
from sobor.sizes import counted, parse_sizes, short_size
from sobor.system.cpus import read_cpus
from sobor.system.files import Files
from sobor.times import parse_time

NAME = "arrival"
SIZES = [64, 4 * KIB, 40_000, 256 * KIB]
WIDTHS = "0us,100us,500us,2ms"
_CALLS, _WARMUP = 40, 3
HOST = "host"


@dataclass(frozen=True)
class Point:
    """One time of the study."""

    curve: str
    width_us: float
    bytes: int
    #: The mean over all ranks, and the largest mean of a rank.
    mean_us: float
    max_us: float


@dataclass(frozen=True)
class Place:
    """Where it runs: a name for the titles, and what gives the points of one width."""

    name: str
    ranks: int
    points: Callable[[float], Iterable[Point]]


def run_arrival(wanted: Any, native: Native) -> int:
    """Takes all times, and writes table, CSV file, picture and JSON; `wanted` as of a study."""
    names = parse_collectives(wanted.collectives, native)
    if len(names) > 1:
        raise SoborError(f"--study is of one collective: found {wanted.collectives}")
    if wanted.nodes is not None and wanted.machine is None:
        raise SoborError("--nodes goes with --machine: here the launcher says where ranks are")
    if wanted.counts != "equal":
        raise SoborError(f"--counts does not go with --study {NAME}")
    wanted = replace(wanted, collectives=names[0])
    words = (wanted.widths or WIDTHS).split(",")
    widths = [parse_time(word, "--widths", or_zero=True) / 1e3 for word in words]
    sizeless = wanted.collectives in SIZELESS
    sizes = parse_sizes(wanted.sizes, "--sizes") if wanted.sizes else SIZES
    folder = make_folder(wanted, "--study")
    simulated = wanted.machine is not None
    place = (_simulated if simulated else _here)(wanted, [0] if sizeless else sizes, native)
    points = _measure(widths, place)
    where = f"simulated {place.name}" if simulated else place.name
    title = f"{wanted.collectives}, {counted(place.ranks, 'rank')}, {where}"
    files = [folder / f"{NAME}{suffix}" for suffix in (".csv", ".svg")]
    _write_csv(points, wanted.collectives, place, files[0])
    from sobor.bench.arrival_plot import draw  # noqa: PLC0415 - loading Matplotlib takes a second

    answer = {"study": NAME, "collective": wanted.collectives, "machine": place.name}
    answer |= {"ranks": place.ranks, "points": [asdict(point) for point in points]}
    outputs.show(
        answer,
        wanted.json_file,
        partial(_write_table, points, title, console.out()),
        *files,
        make_others=partial(draw, points, title, files[1]),
    )
    return 0


def _names(wanted: Any, otherwise: str) -> list[str]:
    """The algorithms that were asked for."""
    if wanted.algorithms is None:
        return [otherwise]
    pairs = [split_algorithm(word, [wanted.collectives]) for word in wanted.algorithms.split(",")]
    return [name for _, name in pairs]


def _simulated(wanted: Any, sizes: list[int], native: Native) -> Place:
    check_engine(native)
    machine = find_machine(wanted.machine or "")
    cores = native.query("topology", "--machine", machine.topology)["cores"]
    nodes = wanted.nodes or machine.nodes
    ranks = count_ranks(wanted, cores * nodes)
    words = [wanted.collectives, "--machine", str(machine.path), "--map", "core", "--root", "0"]
    words += ["--nodes", str(nodes), "--ranks", str(ranks), "--seed", str(wanted.seed)]
    words += ["--algorithm", ",".join(_names(wanted, "all"))]
    words += ["--calls", str(_CALLS), "--warmup", str(_WARMUP)]
    words += ["--bytes", ",".join(map(str, sizes))] if sizes != [0] else []

    def points(width: float) -> Iterable[Point]:
        for row in run_engine(native, (*words, "--arrival", f"uniform:{width:g}us"), None):
            means = row["rank_mean_us"], row["rank_max_us"]
            yield Point(row["algorithm"], width, row["bytes"], *means)

    return Place(machine.name + (f", {nodes} nodes" if nodes > 1 else ""), ranks, points)


def _here(wanted: Any, sizes: list[int], native: Native) -> Place:
    target = target_here(wanted, native)
    cores = read_cpus(Files()).usable
    ranks = count_ranks(wanted, max(cores, 2))
    names = _names(wanted, "auto")

    def points(width: float) -> Iterable[Point]:
        request = Request(
            collectives=[wanted.collectives],
            ranks=[ranks],
            sizes=sizes if sizes != [0] else [1],
            variants=["hot"],
            launchers=[wanted.launcher],
            seconds=wanted.seconds,
            seed=wanted.seed,
            rounds=1,
            host_only=False,
            methods=["single"],
            sync="common",
            timeout=wanted.timeout,
            arrival=1e3 * width,
        )
        for number, name in enumerate(names):
            job = Job(target, ranks, [wanted.collectives], {wanted.collectives: name})
            outcome = run_launch(
                plan_job(job, request, native, cores), time_limit(job, request), lambda _row: None
            )
            if outcome.problem or not outcome.rows:
                problem = outcome.problem or "; ".join(outcome.notices)
                raise SoborError(f"{job.title}, {name}: {problem}")
            for row in outcome.rows:
                yield from _both(row, name, width, number == 0)

    return Place("this machine", ranks, points)


def _both(row: dict[str, Any], name: str, width: float, with_host: bool) -> Iterable[Point]:
    """Of one job: the host, which all jobs time, counts once."""
    for curve, side in ((HOST, "host"), (name, "sobor")):
        if curve != HOST or with_host:
            yield Point(curve, width, row["bytes"], row[f"{side}_us"], row[f"{side}_max_us"])


def _measure(widths: list[float], place: Place) -> list[Point]:
    points: list[Point] = []
    with bar() as progress:
        for width in progress.track(widths, description="Uneven arrival"):
            points += place.points(width)
    return points


def _write_csv(points: list[Point], collective: str, place: Place, path: Path) -> None:
    same = {"collective": collective, "machine": place.name, "ranks": place.ranks}
    columns = [*same, "curve", "width_us", "bytes", "mean_us", "max_us"]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**same, **asdict(point)} for point in points)


def _write_table(points: list[Point], title: str, out: Console) -> None:
    """A row for each width and size, a column for each curve."""
    curves = list(dict.fromkeys(point.curve for point in points))
    console.heading(out, f"Uneven arrival: {title}; µs")
    grid = console.table(out, "width", "bytes", *curves, right=("width", "bytes", *curves))
    rows: dict[tuple[float, int], dict[str, Point]] = {}
    for point in points:
        rows.setdefault((point.width_us, point.bytes), {})[point.curve] = point
    for (width, size), row in rows.items():
        best = min(point.mean_us for point in row.values())
        cells = [_cell(row.get(curve), best) for curve in curves]
        grid.add_row(f"{width:g}", short_size(size) if size else "-", *cells)
    out.print(console.indented(grid))
    out.print("  mean of all ranks / largest mean of a rank; green: the least mean of its row")


def _cell(point: Point | None, best: float) -> Text:
    if point is None:
        return Text("-")
    text = f"{figure(point.mean_us)} / {figure(point.max_us)}"
    return console.best(text, point.mean_us == best)
