# SPDX-License-Identifier: BSD-3-Clause
"""Runs the measurement under a launcher, and writes what it found."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sobor import console, outputs
from sobor.bench.job import run_launch
from sobor.bench.target import make_target
from sobor.errors import SoborError
from sobor.launchers import Launch
from sobor.native import Native, find_native
from sobor.platform import machine_file, views
from sobor.platform.analysis import Rows, prices
from sobor.sizes import short_size
from sobor.system.cpus import read_cpus
from sobor.system.files import Files

#: For each row of samples.
_SECONDS = 0.05
_LIMIT = 600.0
_SHORTEST, _LONGEST = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Wanted:
    """The options of `sobor platform`."""

    command: list[str]
    seconds: float = _SECONDS
    libmpi: str | None = None
    write: str | None = None
    plot: str | None = None
    timeout: float = _LIMIT
    #: Bytes of a block of calls of all ends.
    longest: int = _LONGEST
    #: Added to the launcher.
    ranks: int | None = None
    #: Of one node nothing but that is told.
    between_nodes: bool = False


def platform(wanted: Wanted, json_file: str | None) -> None:
    """Measures, and writes the figures and the files."""
    outputs.check(json_file, wanted.plot)
    if not _SHORTEST <= wanted.longest <= _LONGEST:
        raise SoborError(f"--bytes: expected 1K to 1M, found {short_size(wanted.longest)}")
    native = find_native()
    if wanted.write is not None:
        machine_file.check(wanted.write)
    answers = measure(native, wanted)
    outputs.show(
        answers,
        json_file,
        lambda: views.write(answers, console.out()),
        wanted.plot,
        wanted.write,
        make_others=lambda: _make_files(native, wanted, answers),
    )


def _make_files(native: Native, wanted: Wanted, answers: dict[str, Any]) -> None:
    if wanted.plot:
        from sobor.platform.plot import draw  # noqa: PLC0415 - Matplotlib takes a second

        draw(answers, Path(wanted.plot))
    if wanted.write is not None:
        machine_file.write(native, wanted.write, answers)


def measure(native: Native, wanted: Wanted) -> dict[str, Any]:
    """What the job found."""
    native.check_bench()
    target = make_target(shlex.join(wanted.command), native, wanted.libmpi, host_only=True)
    cores = read_cpus(Files()).usable
    start = target.words if wanted.ranks is None else target.start(wanted.ranks, cores)
    words = [
        *start,
        str(native.bench),
        *("--abi", target.library.abi, "--libmpi", str(target.library.path)),
        *("--host-only", "--platform", "--seconds", f"{wanted.seconds:g}"),
        *("--longest", str(wanted.longest)),
        *(["--between-nodes"] if wanted.between_nodes else []),
    ]
    launch = Launch(words, target.environment(oversubscribed=False))
    outcome = run_launch(launch, wanted.timeout, lambda _row: None)
    if outcome.problem:
        raise SoborError(f"{target.launcher.label}: {outcome.problem}")
    jobs = [row for row in outcome.rows if row["measure"] == "job"]
    if len(jobs) != 1:
        raise SoborError(
            f"expected one job of all ranks, found {len(jobs)}",
            "the launcher belongs to another MPI: name its library by --libmpi",
        )
    job = jobs[0]
    if wanted.between_nodes and job["nodes"] == 1:
        return {"job": job}
    return prices(Rows(job, outcome.rows))
