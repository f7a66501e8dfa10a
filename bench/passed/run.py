#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a call costs that goes to the host MPI, with Sobor and without.

usage: bench/passed/run.py [--build FOLDER] [--rounds N]

Two ranks, Open MPI and MPICH where their compilers are there; runs of bare host and Sobor take
turns, and medians of the runs are compared. The columns: a call on MPI_COMM_SELF, an empty
broadcast and an operation that is the host's, each in an unbroken loop; an allreduce of 8 bytes,
timed by itself between barriers. Nanoseconds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
COLUMNS = ("self", "bcast", "operator", "between")
#: What makes calls the host's. Barriers are Sobor's own in the last two.
WAYS = {
    "bare": None,
    "SOBOR_COLLECTIVES=none": {"SOBOR_COLLECTIVES": "none"},
    "SOBOR_COLLECTIVES=barrier": {"SOBOR_COLLECTIVES": "barrier"},
    "SOBOR_*_ALGORITHM=host": {
        "SOBOR_BCAST_ALGORITHM": "host",
        "SOBOR_ALLREDUCE_ALGORITHM": "host",
    },
}
MPIS = {
    "Open MPI": ("mpicc.openmpi", ["mpirun.openmpi", "--oversubscribe", "--bind-to", "core"]),
    "MPICH": ("mpicc.mpich", ["mpiexec.mpich", "-bind-to", "core"]),
}


def run(launch: list[str], program: Path, preload: Path, way: dict | None) -> list[float]:
    """The four numbers of one run."""
    variables = (
        [] if way is None else [f"LD_PRELOAD={preload}", *(f"{k}={v}" for k, v in way.items())]
    )
    rootly = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        [*launch, "-n", "2", "env", *variables, str(program)],
        env={**rootly, **os.environ},
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    )
    return [float(word) for word in done.stdout.split()]


def compare(name: str, compiler: str, launch: list[str], options, folder: Path) -> None:
    """Prints the table of one MPI."""
    program = folder / "passed"
    subprocess.run([compiler, "-O2", str(HERE / "passed.c"), "-o", str(program)], check=True)
    preload = options.build.resolve() / "lib" / "sobor" / "libsobor.so"
    runs: dict[str, list] = {way: [] for way in WAYS}
    for _ in range(options.rounds):
        for way, variables in WAYS.items():
            runs[way].append(run(launch, program, preload, variables))
    print(f"{name:<28}" + "".join(f"{column:>18}" for column in COLUMNS))
    medians = {
        way: [statistics.median(c) for c in zip(*rows, strict=True)] for way, rows in runs.items()
    }
    for way, row in medians.items():
        cells = [
            f"{value:.1f}" + ("" if way == "bare" else f" ({value - bare:+.1f})")
            for value, bare in zip(row, medians["bare"], strict=True)
        ]
        print(f"  {way:<26}" + "".join(f"{cell:>18}" for cell in cells))


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build" / "release")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for name, (compiler, launch) in MPIS.items():
        if shutil.which(compiler) is None:
            print(f"{name}: no {compiler}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            compare(name, compiler, launch, options, Path(folder))


if __name__ == "__main__":
    main()
