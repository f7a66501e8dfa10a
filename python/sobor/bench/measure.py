# SPDX-License-Identifier: BSD-3-Clause
"""Runs all jobs of a request, with a progress bar, and writes the result."""

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.progress import Progress

from sobor import console, outputs, variables
from sobor.bench import limits, skew, table, tuning
from sobor.bench.job import Job, Row, plan_job, run_launch, time_limit
from sobor.bench.peers import is_named
from sobor.bench.request import Request
from sobor.bench.schedule import Measured, jobs, merge
from sobor.bench.target import Target, make_target
from sobor.errors import SoborError
from sobor.native import Native
from sobor.progress import counter
from sobor.sizes import counted, short_size
from sobor.system.cpus import read_cpus
from sobor.system.files import Files
from sobor.tuning import RULES_MOST, VARIABLE

#: The status of what the user has stopped.
_INTERRUPTED = 130


@dataclass(frozen=True)
class Outputs:
    """What is written besides the table."""

    json: str | None = None
    tuning: str | None = None
    plot: str | None = None


def bench(request: Request, native: Native, files: Outputs) -> int:
    """Measures, writes the table and the files, and returns the exit status."""
    _check(request, native)
    outputs.check(files.json, files.plot)
    _check_tuning(request, files.tuning, native)
    status, rows = measure(request, native, read_cpus(Files()).usable, keeps=True)
    if request.explain:
        skew.explain(rows)
    plot = files.plot if rows else None

    def make_others() -> None:
        if files.tuning is not None:
            _write_tuning(rows, files.tuning, status)
        _draw(rows, plot)

    outputs.show(
        rows, files.json, lambda: _write(rows, request.explain), plot, make_others=make_others
    )
    return status


def measure(
    request: Request, native: Native, cores: int, keeps: bool = False
) -> tuple[int, list[Row]]:
    """Runs every job; the exit status, and a row for each point.

    `keeps`: what is there when the user stops it is wanted; else that is a KeyboardInterrupt.
    """
    targets = _targets(request, native)
    for target in targets:
        if not target.preloads and not request.host_only:
            console.print_warning(
                f"{target.launcher.label}: no back end {target.library.abi}; "
                "the host alone is timed"
            )
    run = _Run(request, native, targets, cores)
    status = run.all(keeps)
    return status, merge(run.measured, request, targets)


def _targets(request: Request, native: Native) -> list[Target]:
    """All launchers; a peer by name that is not there is left out, and it is said why."""
    first, *others = request.launchers
    targets = [make_target(first, native, request.libmpi, request.host_only)]
    for command in others:
        try:
            target = make_target(command, native, None, request.host_only, option="--peers")
            targets.append(target)
        except SoborError as error:
            if not is_named(command):
                raise
            console.print_warning(f"left out: {error.message}")
    return targets


def _check(request: Request, native: Native) -> None:
    native.check_bench()
    if 1 in request.ranks:
        raise SoborError("--ranks: a collective needs at least 2 ranks, found 1")


def _check_tuning(request: Request, file: str | None, native: Native) -> None:
    if file is None:
        return
    outputs.check_writable(file, "--write-tuning")
    if request.host_only:
        raise SoborError("--write-tuning compares Sobor with the host; leave out --host-only")
    if request.ways > 1:
        raise SoborError(
            "--write-tuning goes by one method, behind one barrier; found --method "
            + ",".join(request.methods)
            + (f" --sync {request.sync}" if request.sync else ""),
            "name one method; with --method single also --sync common",
        )
    if os.environ.get(VARIABLE):
        raise SoborError(
            f"--write-tuning: {VARIABLE} is set, so its rules would be measured",
            f"unset {VARIABLE}",
        )
    variables.refuse_unserved("--write-tuning", native, variables.SWITCH, variables.SERVED)


class _Run:
    """The measurement while it is going on."""

    def __init__(self, request: Request, native: Native, targets: list[Target], cores: int):
        self.request = request
        self.native = native
        self.targets = targets
        self.cores = cores
        self.measured: list[Measured] = []
        self.notices: set[str] = set()

    def all(self, keeps: bool) -> int:
        """Runs every job; returns 0, 1 if one failed, or, if it `keeps`, 130 if it was stopped."""
        plan = list(jobs(self.request, self.targets))
        total = sum(self.request.points(job.collectives) for _, job in plan)
        status = 0
        with counter(44) as progress:
            task = progress.add_task("starting", total=total)
            try:
                for number, job in plan:
                    if not self._one(number, job, progress, task):
                        status = 1
            except KeyboardInterrupt:
                if not keeps:
                    raise
                progress.console.print("stopped; what was measured so far:")
                status = _INTERRUPTED
        return status

    def _one(self, number: int, job: Job, progress: Progress, task) -> bool:
        progress.update(task, description=job.title)

        def on_row(row: Row) -> None:
            forced = job.forced.get(row["collective"])
            self.measured.append(Measured(number, job.ranks, forced, row))
            size = f" {short_size(row['bytes'])} {row['variant']}" if row["bytes"] else ""
            description = f"{job.title}: {row['collective']}{size}"
            progress.update(task, advance=1, description=description)

        launch = plan_job(job, self.request, self.native, self.cores)
        outcome = run_launch(launch, time_limit(job, self.request), on_row)
        for notice in outcome.notices:
            if notice not in self.notices:
                self.notices.add(notice)
                console.print_warning(f"{job.title}: {notice.removeprefix('sobor: ')}")
        problem = outcome.problem
        if not problem and len(outcome.rows) < self.request.points(job.collectives):
            problem = "it ended before everything was measured"
        if problem:
            console.print_error(SoborError(f"{job.title}: {problem}"))
        return not problem


def _draw(rows: list[Row], plot: str | None) -> None:
    if plot is not None:
        from sobor.bench.plot import draw  # noqa: PLC0415 - loading Matplotlib takes a second

        draw(rows, Path(plot))


def _write(rows: list[Row], explain: bool) -> None:
    if rows:
        table.write(rows, console.out())
    if explain:
        skew.write(rows, console.out())
    limits.write(rows, console.out())


def _write_tuning(rows: list[Row], file: str, status: int) -> None:
    if not rows:
        console.print_warning(f"--write-tuning: nothing was measured, so {file} is not written")
        return
    rules = tuning.rules_of(rows)
    tuning.write(file, rules, rows[0]["launcher"])
    if (nodes := tuning.nodes_of(rows)) > 1:
        console.print_warning(
            f"--write-tuning: rules are of the ranks of one node: what those of {nodes} nodes did "
            "together gives none"
        )
    if len(rules) > RULES_MOST:
        console.print_warning(
            f"{file} has {len(rules)} rules, and Sobor takes {RULES_MOST}: take some out"
        )
    says_all = status == 0 and tuning.nodes_of(rows) == 1
    best = ": what Sobor chooses is best everywhere" if says_all else ""
    use = f"; use it by --set TUNING={shlex.quote(file)}" if rules else best
    print(f"\n{counted(len(rules), 'rule')} written to {file}{use}", file=sys.stderr)
