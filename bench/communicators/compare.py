#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What communicators cost with Sobor, beside the host MPI alone.

usage: compare.py PRELOAD [--mpicc mpicc] [--mpiexec "mpirun -np 2"] [--runs 7] [--broadcasts COUNT]

PRELOAD is libsobor.so. Runs with and without it take turns; shown are medians of rank 0. Without
--broadcasts each of 1,000 communicators that live has twice as many as SOBOR_SERVE_AFTER says: the
first half are the host's.
"""

import argparse
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = [
    ("MPI_Init, ms", 1e-3),
    ("first broadcast, us", 1),
    ("resident after it, MiB", 1 / 1024),
    ("dup + barrier + free, us", 1),
    ("1,000 communicators: one broadcast each, ms", 1e-3),
    ("  more resident, MiB", 1 / 1024),
    ("  {broadcasts} broadcasts each, ms", 1e-3),
    ("  more resident, MiB", 1 / 1024),
]


VARIABLES = Path(__file__).resolve().parents[2] / "src" / "base" / "variables.def"


def serve_after() -> int:
    """The call from which on a communicator is served, as these runs will have it."""
    usual = re.search(r'"SOBOR_SERVE_AFTER", COUNT, "(\d+)"', VARIABLES.read_text("utf-8"))
    return int(os.environ.get("SOBOR_SERVE_AFTER") or usual.group(1))


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("preload", type=Path)
    parser.add_argument("--mpicc", default="mpicc")
    parser.add_argument("--mpiexec", default="mpirun -np 2")
    parser.add_argument("--runs", type=int, default=7)
    help_ = "on each communicator; %(default)s without it: half of them the host's"
    parser.add_argument("--broadcasts", type=int, default=2 * serve_after(), help=help_)
    return parser.parse_args()


def run_once(command: list[str], environment: dict[str, str]) -> list[float]:
    """The numbers that the program prints."""
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"compare.py: {shlex.join(command)} failed:\n{done.stderr}")
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    """Builds the program, runs it both ways, and prints the table."""
    options = read_options()
    preload = {"LD_PRELOAD": str(options.preload.resolve())}
    source = Path(__file__).with_name("measure.c")
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder, "measure"))
        subprocess.run([options.mpicc, "-O2", str(source), "-o", program], check=True)
        command = [*shlex.split(options.mpiexec), program, str(options.broadcasts)]
        runs = [(run_once(command, {}), run_once(command, preload)) for _ in range(options.runs)]
    print(f"{'':48}{'host':>10}{'Sobor':>10}{'ratio':>8}{'more':>10}")
    for row, (name, unit) in enumerate(ROWS):
        host, ours = (statistics.median(run[side][row] for run in runs) * unit for side in (0, 1))
        ratio = f"{ours / host:8.2f}" if host else f"{'-':>8}"
        title = name.format(broadcasts=options.broadcasts)
        print(f"{title:48}{host:10.2f}{ours:10.2f}{ratio}{ours - host:10.2f}")


if __name__ == "__main__":
    main()
