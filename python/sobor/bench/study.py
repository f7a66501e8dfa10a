# SPDX-License-Identifier: BSD-3-Clause
"""`sobor bench --study`: experiments with one collective, on this machine or a simulated one."""

import csv
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from sobor import console, outputs
from sobor.bench import arrival
from sobor.bench.experiments import Configuration, Study, studied, studies_of
from sobor.bench.figures import figure
from sobor.bench.place import count_ranks, make_folder
from sobor.bench.request import parse_counts_pattern
from sobor.errors import SoborError
from sobor.machines import Machine, find_machine
from sobor.native import Native
from sobor.progress import bar
from sobor.simulate.engine import check_engine
from sobor.sizes import counted, parse_sizes, short_size
from sobor.study.place import Bench, Case, Times, simulate


@dataclass(frozen=True)
class Wanted:
    """The options of a study."""

    name: str
    collectives: str
    machine: str | None
    ranks: str | None
    sizes: str | None
    launcher: str
    libmpi: str | None
    seconds: float
    seed: int
    timeout: float | None
    counts: str
    out: str
    json_file: str | None
    #: Of the study of uneven arrival.
    widths: str | None = None
    nodes: int | None = None
    algorithms: str | None = None


@dataclass(frozen=True)
class Point:
    """One time of a study."""

    curve: str
    #: None: it does not depend on what the axis shows.
    x: int | None
    label: str
    algorithm: str
    counts: str
    bytes: int
    root: str
    time_us: float
    settings: dict[str, str]


@dataclass(frozen=True)
class Place:
    """Where a study runs: a name for the titles, and what takes the times of a configuration."""

    name: str
    ranks: int
    times: Callable[[Configuration], Times]
    simulated: bool = False

    @property
    def title(self) -> str:
        """The name, and whether it is made up."""
        return f"simulated {self.name}" if self.simulated else self.name


def run_study(wanted: Wanted, native: Native) -> int:
    """Takes all times, and writes table, CSV file, picture and JSON."""
    if wanted.name == arrival.NAME:
        return arrival.run_arrival(wanted, native)
    study = _find(wanted)
    for name in ("widths", "nodes", "algorithms"):
        if getattr(wanted, name) is not None:
            raise SoborError(f"--{name} goes with --study {arrival.NAME}")
    wanted = replace(wanted, counts=parse_counts_pattern(wanted.counts))
    sizes = parse_sizes(wanted.sizes, "--sizes") if wanted.sizes else study.sizes
    folder = make_folder(wanted, "--study")
    simulated = wanted.machine is not None
    place = _simulated(wanted, sizes, native) if simulated else _here(wanted, sizes, native)
    points = _measure(study, _configurations(study, wanted, native), place)
    files = [folder / f"{study.name}{suffix}" for suffix in (".csv", ".svg")]
    _write_csv(points, study, wanted, place, files[0])
    from sobor.bench.study_plot import draw  # noqa: PLC0415 - loading Matplotlib takes a second

    title = f"{wanted.collectives}, {counted(place.ranks, 'rank')}, {place.title}"
    answer = {
        "study": study.name,
        "collective": wanted.collectives,
        "machine": place.name,
        "ranks": place.ranks,
        "points": [asdict(point) for point in points],
    }
    outputs.show(
        answer,
        wanted.json_file,
        partial(_write_table, points, study, wanted, place, console.out()),
        *files,
        make_others=partial(draw, points, study, title, files[1]),
    )
    return 0


def _find(wanted: Wanted) -> Study:
    known = studies_of(wanted.collectives)
    if not known:
        raise SoborError(
            f"--study is of one collective out of {', '.join(studied())}: "
            f"found {wanted.collectives}"
        )
    if wanted.name not in known:
        raise SoborError(
            f"--study: {wanted.collectives} has {', '.join([*known, arrival.NAME])}, "
            f"found {wanted.name}"
        )
    return known[wanted.name]


def _configurations(study: Study, wanted: Wanted, native: Native) -> list[Configuration]:
    names = [
        algorithm["name"]
        for algorithm in native.query("algorithms")
        if algorithm["collective"] == wanted.collectives
    ]
    return [
        replace(each, counts=each.counts or wanted.counts)
        for each in study.plan(list(dict.fromkeys(names)))
    ]


def _simulated(wanted: Wanted, sizes: list[int], native: Native) -> Place:
    check_engine(native)
    machine: Machine = find_machine(wanted.machine or "")
    cores = native.query("topology", "--machine", machine.topology)["cores"]
    ranks = count_ranks(wanted, cores)

    def times(configuration: Configuration) -> Times:
        case = _case(wanted, ranks, sizes, configuration)
        return simulate(native, machine, case, wanted.seed)

    return Place(machine.name, ranks, times, simulated=True)


def _case(wanted: Wanted, ranks: int, sizes: list[int], configuration: Configuration) -> Case:
    return Case(
        wanted.collectives,
        configuration.algorithm,
        ranks,
        tuple(sizes),
        configuration.settings,
        root=configuration.root,
        placed=configuration.placed,
        counts=configuration.counts,
    )


def _here(wanted: Wanted, sizes: list[int], native: Native) -> Place:
    bench = Bench(native, wanted.launcher, wanted.libmpi, wanted.seconds, wanted.timeout)
    ranks = count_ranks(wanted, max(bench.cores, 2))

    def times(configuration: Configuration) -> Times:
        case = _case(wanted, ranks, sizes, configuration)
        return bench.times(case, wanted.seed, configuration.label)

    return Place("this machine", ranks, times)


def _measure(study: Study, configurations: list[Configuration], place: Place) -> list[Point]:
    points: list[Point] = []
    by_size = all(each.x is None for each in configurations)
    with bar() as progress:
        task = progress.add_task(study.title, total=len(configurations))
        for configuration in configurations:
            progress.update(task, description=configuration.label)
            times = place.times(configuration)
            points += [_point(by_size, configuration, size, us) for size, us in times.items()]
            progress.advance(task)
    return points


def _point(by_size: bool, configuration: Configuration, size: int, time_us: float) -> Point:
    names = [configuration.curve, short_size(size)]
    return Point(
        curve=configuration.label if by_size else ", ".join(filter(None, names)),
        x=size if by_size else configuration.x,
        label=configuration.label,
        algorithm=configuration.algorithm,
        counts=configuration.counts or "",
        bytes=size,
        root=configuration.root,
        time_us=time_us,
        settings=dict(configuration.settings),
    )


def _write_csv(points: list[Point], study: Study, wanted: Wanted, place: Place, path: Path) -> None:
    columns = ["study", "collective", "machine", "ranks", "curve", "x", "label", "algorithm"]
    columns += ["counts", "bytes", "root", "time_us", "settings"]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for point in points:
            settings = " ".join(f"{name}={value}" for name, value in point.settings.items())
            same = {"study": study.name, "collective": wanted.collectives}
            same |= {"machine": place.name, "ranks": place.ranks}
            writer.writerow({**same, **asdict(point), "settings": settings})


def _write_table(
    points: list[Point], study: Study, wanted: Wanted, place: Place, out: Console
) -> None:
    """A row for each place on the axis, a column for each curve; times in µs."""
    curves = list(dict.fromkeys(point.curve for point in points))
    title = (
        f"{study.title}: {wanted.collectives}, {counted(place.ranks, 'rank')}, {place.title}; µs"
    )
    console.heading(out, title)
    grid = console.table(out, study.axis, *curves, right=(study.axis, *curves))
    rows: dict[str, dict[str, Point]] = {}
    for point in points:
        rows.setdefault(tick(point, study), {})[point.curve] = point
    for name, row in rows.items():
        grid.add_row(name, *(_cell(row.get(curve), points) for curve in curves))
    out.print(console.indented(grid))
    out.print("  cold buffers; green: the best of its size")


def tick(point: Point, study: Study) -> str:
    """What is written at a point's place on the axis."""
    if point.x is None or study.ticks == "label":
        return point.label
    return str(point.x) if study.ticks == "number" else short_size(point.x)


def _cell(point: Point | None, points: list[Point]) -> Text:
    if point is None:
        return Text(figure(None))
    rivals = [p.time_us for p in points if (p.bytes, p.counts) == (point.bytes, point.counts)]
    return console.best(figure(point.time_us), point.time_us == min(rivals))
