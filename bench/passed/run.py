#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a call costs that goes to the host MPI, with Sobor and without.

usage: bench/passed/run.py [--build FOLDER] [--mpi o41,m40] [--rounds N] [--calls N]

Two ranks on a core each, under the MPIs of tests/mpi/mpis.py that are there; runs of bare host and
Sobor take turns, and medians of the runs are compared. The columns: a call on MPI_COMM_SELF, an
empty broadcast and an operation that is the host's, each in an unbroken loop; an allreduce of 8
bytes, timed by itself between barriers. Nanoseconds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path.insert(0, str(REPOSITORY / "tests" / "mpi"))
import mpis  # noqa: E402 - it is found by the line above

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
#: A core for each rank. Intel MPI gives ranks cores by itself.
BINDING = {
    "o41": ("--oversubscribe", "--bind-to", "core"),
    "o50": ("--bind-to", "core"),
    "m40": ("-bind-to", "core"),
    "m50": ("-bind-to", "core"),
}
#: What a user who is root needs to say; nothing that chooses a transport or a way to wait.
LAUNCH = {
    name: value
    for name, value in mpis.LAUNCH_ENVIRONMENT.items()
    if "RUN_AS_ROOT" in name or (name.startswith("I_MPI_") and name != "I_MPI_PIN")
}


def run(mpi: mpis.Mpi, words: list[str], preload: Path, way: dict | None) -> list[float]:
    """The four numbers of one run."""
    variables = (
        [] if way is None else [f"LD_PRELOAD={preload}", *(f"{k}={v}" for k, v in way.items())]
    )
    launch = [str(mpi.launcher), *BINDING.get(mpi.key, ()), "-n", "2"]
    done = subprocess.run(
        [*launch, "env", *variables, *words],
        env={**LAUNCH, **os.environ},
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    )
    return [float(word) for word in done.stdout.split()]


def compare(mpi: mpis.Mpi, options, folder: Path) -> None:
    """Prints the table of one MPI."""
    program = folder / "passed"
    subprocess.run(
        [mpi.compilers["c"], "-O2", str(HERE / "passed.c"), "-o", str(program)],
        env={**LAUNCH, **os.environ},
        check=True,
    )
    preload = options.build.resolve() / "lib" / "sobor" / "libsobor.so"
    runs: dict[str, list] = {way: [] for way in WAYS}
    for _ in range(options.rounds):
        for way, variables in WAYS.items():
            runs[way].append(run(mpi, [str(program), str(options.calls)], preload, variables))
    print(f"{mpi.key:<28}" + "".join(f"{column:>18}" for column in COLUMNS))
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
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build" / "release")
    parser.add_argument("--mpi", default="o41,m40", help="keys of tests/mpi/mpis.py, by comma")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=20001, help="between barriers, of a run")
    options = parser.parse_args()
    known = mpis.all_mpis()
    for mpi in (known[key] for key in options.mpi.split(",")):
        missing = mpi.missing()
        if missing is not None:
            print(missing)
            continue
        with tempfile.TemporaryDirectory() as folder:
            compare(mpi, options, Path(folder))


if __name__ == "__main__":
    main()
