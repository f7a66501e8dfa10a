# SPDX-License-Identifier: BSD-3-Clause
"""Print every function that one warm broadcast of 4 KiB enters, with its file.

usage: trace_call.py [--rank R] [--no-build]

Builds the library with the preset "trace" (-finstrument-functions, nothing inlined), runs two ranks
of tests/mpi/programs/traced.c under the MPI of mpicc and mpirun, and shows the chain of calls of
rank R (0, the root). Functions of headers are counted apart: in the release build they are part of
their callers.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "trace"


def build() -> None:
    """The preloaded object and the back ends."""
    commands = (
        ["cmake", "--preset", "trace"],
        ["cmake", "--build", str(BUILD), "--target", "sobor", "sobor-ompi40", "sobor-mpich12"],
    )
    for command in commands:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stdout[-2000:] + done.stderr[-2000:])


def run(rank: int) -> list[tuple[int, str, str]]:
    """Depth, object and offset of each function entered."""
    program = BUILD / "traced"
    source = ROOT / "tests" / "mpi" / "programs" / "traced.c"
    subprocess.run(
        ["mpicc", "-rdynamic", "-O0", str(source), "-o", str(program), "-ldl"], check=True
    )
    preload = BUILD / "lib" / "sobor" / "libsobor.so"
    launch = ["mpirun", "-n", "2", "env", f"LD_PRELOAD={preload}", str(program), str(rank)]
    rootly = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment = {**rootly, "OMPI_MCA_rmaps_base_oversubscribe": "1", **os.environ}
    done = subprocess.run(
        launch, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    entries = [line.split() for line in done.stdout.splitlines()]
    return [(int(depth), path, offset) for depth, path, offset in entries]


def resolve(entries: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    """Depth, function and file."""
    found = []
    for depth, path, offset in entries:
        text = subprocess.run(
            ["addr2line", "-f", "-e", path, offset], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        file = text[1].rsplit(":", 1)[0]
        found.append((depth, text[0], file.split("/src/", 1)[-1]))
    return found


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rank", type=int, default=0, help="whose calls (0: the root)")
    parser.add_argument("--no-build", action="store_true", help="the build is there already")
    options = parser.parse_args()
    if not options.no_build:
        build()
    chain = resolve(run(options.rank))
    for depth, function, file in chain:
        print(f"{'  ' * depth}{function:<{max(1, 44 - 2 * depth)}} {file}")
    functions = {(function, file) for _, function, file in chain}
    files = {file for _, _, file in chain}
    headers = {file for file in files if file.endswith(".h")}
    entered = len(files) - len(headers)
    inline = f"inline functions of {len(headers)} headers"
    print(f"{len(functions)} functions: {entered} files entered, {inline}")
    return 0 if chain else 1


if __name__ == "__main__":
    sys.exit(main())
