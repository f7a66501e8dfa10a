# SPDX-License-Identifier: BSD-3-Clause
"""`sobor bench bcast --study`: published experiments, on this machine or a simulated one."""

import csv
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.text import Text

from sobor import console
from sobor.bench.experiments import STUDIES, Configuration, Study
from sobor.bench.job import Job, plan_job, run_launch, time_limit
from sobor.bench.request import Request
from sobor.bench.table import figure
from sobor.bench.target import make_target
from sobor.errors import SoborError
from sobor.machines import Machine, find_machine
from sobor.native import Native
from sobor.simulate.engine import check_engine, run_engine
from sobor.sizes import parse_counts, parse_sizes, short_size
from sobor.system.cpus import read_cpus
from sobor.system.files import Files

ALGORITHM = "numa-pipelined"
_CALLS, _WARMUP = 8, 3

# Times in microseconds, by size.
Times = dict[int, float]


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
    out: str
    json_file: str | None


@dataclass(frozen=True)
class Point:
    """One time of a study."""

    curve: str
    x: int
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


def run_study(wanted: Wanted, native: Native) -> int:
    """Takes all times, and writes table, CSV file, picture and JSON."""
    study = _find(wanted)
    sizes = parse_sizes(wanted.sizes, "--sizes") if wanted.sizes else study.sizes
    folder = _folder(wanted)
    simulated = wanted.machine is not None
    place = _simulated(wanted, sizes, native) if simulated else _here(wanted, sizes, native)
    points = _measure(study, place)
    files = [folder / f"{study.name}{suffix}" for suffix in (".csv", ".svg")]
    _write_csv(points, study, place, files[0])
    from sobor.bench.study_plot import draw  # noqa: PLC0415 - loading Matplotlib takes a second

    draw(points, study, f"{place.ranks} ranks, {place.name}", files[1])
    answer = {
        "study": study.name,
        "algorithm": ALGORITHM,
        "machine": place.name,
        "ranks": place.ranks,
        "points": [asdict(point) for point in points],
    }
    if wanted.json_file == "-":
        console.print_json(answer)
        return 0
    _write_table(points, study, place, console.out())
    if wanted.json_file is not None:
        files.append(Path(wanted.json_file))
        files[-1].write_text(json.dumps(answer, indent=2) + "\n", encoding="utf-8")
    print(f"\nwritten to {', '.join(map(str, files))}", file=sys.stderr)
    return 0


def _find(wanted: Wanted) -> Study:
    if wanted.collectives != "bcast":
        raise SoborError(f"--study is of the broadcast: expected bcast, found {wanted.collectives}")
    if wanted.name not in STUDIES:
        raise SoborError(f"--study: expected {', '.join(STUDIES)}, found {wanted.name}")
    return STUDIES[wanted.name]


def _folder(wanted: Wanted) -> Path:
    folder = Path(wanted.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SoborError(f"--out: {folder}: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise SoborError(f"--out: expected a folder that can be written, found {folder}")
    if wanted.json_file not in (None, "-"):
        path = Path(wanted.json_file).absolute()
        if path.is_dir() or not os.access(path.parent, os.W_OK):
            raise SoborError(f"--json: {wanted.json_file}: expected a file that can be written")
    return folder


def _ranks(wanted: Wanted, otherwise: int) -> int:
    counts = parse_counts(wanted.ranks, "--ranks") if wanted.ranks else [otherwise]
    if len(counts) != 1 or counts[0] < 2:
        raise SoborError(
            f"--ranks: a study needs one number of at least 2, found {wanted.ranks or otherwise}"
        )
    return counts[0]


def _simulated(wanted: Wanted, sizes: list[int], native: Native) -> Place:
    check_engine(native)
    machine: Machine = find_machine(wanted.machine or "")
    cores = native.query("topology", "--machine", machine.topology)["cores"]
    ranks = _ranks(wanted, cores)

    def times(configuration: Configuration) -> Times:
        words = ["bcast", "--machine", str(machine.path), "--ranks", str(ranks), "--map", "core"]
        words += ["--bytes", ",".join(map(str, sizes)), "--root", configuration.root]
        words += ["--algorithm", ALGORITHM, "--cold", "on", "--seed", str(wanted.seed)]
        words += ["--calls", str(_CALLS), "--warmup", str(_WARMUP)]
        words += ["--placement", "on" if configuration.placed else "off"]
        for name, value in configuration.settings.items():
            words += ["--set", f"{name}={value}"]
        rows = run_engine(native, tuple(words), None)
        return {row["bytes"]: row["median_us"] for row in rows}

    return Place(machine.name, ranks, times)


def _here(wanted: Wanted, sizes: list[int], native: Native) -> Place:
    if not native.bench.is_file():
        raise SoborError(f"{native.bench} is missing", "build Sobor with its bench: make build")
    cores = read_cpus(Files()).usable
    ranks = _ranks(wanted, max(cores, 2))
    target = make_target(wanted.launcher, native, wanted.libmpi)
    if not target.preloads:
        raise SoborError(f"{target.launcher.label}: no back end {target.library.abi}")
    request = Request(
        collectives=["bcast"],
        ranks=[ranks],
        sizes=sizes,
        variants=["cold"],
        launchers=[wanted.launcher],
        seconds=wanted.seconds,
        seed=wanted.seed,
        rounds=1,
        host_only=False,
        timeout=wanted.timeout,
    )

    def times(configuration: Configuration) -> Times:
        forced = {"bcast": ALGORITHM}
        job = Job(target, ranks, ["bcast"], forced, configuration.settings, configuration.root)
        launch = plan_job(job, request, native, cores)
        outcome = run_launch(launch, time_limit(job, request), lambda row: None)
        problem = outcome.problem or ("; ".join(outcome.notices) if not outcome.rows else "")
        if not problem and any(row["algorithm"] != ALGORITHM for row in outcome.rows):
            problem = f"{ALGORITHM} did not serve all calls"
        if problem:
            raise SoborError(f"{job.title}, {configuration.label}: {problem}")
        return {row["bytes"]: row["sobor_us"] for row in outcome.rows}

    return Place("this machine", ranks, times)


def _measure(study: Study, place: Place) -> list[Point]:
    points: list[Point] = []
    stream = console.err()
    with Progress(console=stream, transient=True, disable=not stream.is_terminal) as progress:
        task = progress.add_task(study.title, total=len(study.configurations))
        for configuration in study.configurations:
            progress.update(task, description=configuration.label)
            times = place.times(configuration)
            points += [_point(study, configuration, size, us) for size, us in times.items()]
            progress.advance(task)
    return points


def _point(study: Study, configuration: Configuration, size: int, time_us: float) -> Point:
    return Point(
        curve=configuration.label if study.by_size else short_size(size),
        x=size if configuration.x is None else configuration.x,
        bytes=size,
        root=configuration.root,
        time_us=time_us,
        settings=dict(configuration.settings),
    )


def _write_csv(points: list[Point], study: Study, place: Place, path: Path) -> None:
    columns = ["study", "machine", "ranks", "curve", "x", "bytes", "root", "time_us", "settings"]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for point in points:
            settings = " ".join(f"{name}={value}" for name, value in point.settings.items())
            head = [study.name, place.name, place.ranks, point.curve, point.x, point.bytes]
            writer.writerow([*head, point.root, point.time_us, settings])


def _write_table(points: list[Point], study: Study, place: Place, out: Console) -> None:
    """A row for each place on the axis, a column for each curve; times in µs."""
    curves = list(dict.fromkeys(point.curve for point in points))
    times: dict[tuple[int, str], Any] = {(p.x, p.curve): p.time_us for p in points}
    console.heading(out, f"{study.title}: {place.ranks} ranks, {place.name}; µs")
    grid = console.table(out, study.axis, *curves, right=(study.axis, *curves))
    rows = list(dict.fromkeys(point.x for point in points))
    for x in rows:
        cells = (_cell(times, x, curve, curves, rows, study) for curve in curves)
        grid.add_row(str(x) if study.axis.startswith("s") else short_size(x), *cells)
    out.print(console.indented(grid))
    out.print("  cold buffers; green: the best of the row, or of the curve where x is a setting")


def _cell(
    times: dict[tuple[int, str], Any],
    x: int,
    curve: str,
    curves: list[str],
    rows: list[int],
    study: Study,
) -> Text:
    rivals = [(x, each) for each in curves] if study.by_size else [(each, curve) for each in rows]
    known = [times[key] for key in rivals if key in times]
    time = times.get((x, curve))
    return Text(figure(time), style="bold green" if time == min(known) else "")
