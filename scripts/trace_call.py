# SPDX-License-Identifier: BSD-3-Clause
"""Print every function that a warm broadcast of 4 KiB enters, with its file; at most 10 files.

usage: trace_call.py [--rank R] [--no-build]

Builds the library with the preset "trace" (-finstrument-functions, nothing inlined), runs two ranks
of tests/mpi/programs/traced.c under the MPI of mpicc and mpirun, and shows the chain of calls of
rank R (0, the root): the shortest that several of a hundred calls have, as some also try or time a
way of copying.

Files count that are compiled, .c: a call into one goes to other code. What a .def makes belongs to
the file that includes it. Functions of headers are counted apart: in the release build they are
part of their callers, so a call of one stays where it is. So is the trampoline that the program
calls, a jump without a function of its own (stub/trampolines.S, a line of base/functions.def).

Exit status: 1 if more files are entered than that, or none.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "trace"
#: So many files are still one way that can be read from top to bottom.
FILES_MOST = 10
#: So many calls are no chance.
SEVERAL = 5
#: Where functions are that a list makes.
INCLUDED_BY = {
    "base/functions.def": "stub/trampolines.S",
    "mpi/collectives.def": "mpi/calls.c",
}


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
    """Depth, object and offset of each function entered, of the shortest usual call."""
    program = BUILD / "traced"
    source = ROOT / "tests" / "mpi" / "programs" / "traced.c"
    subprocess.run(
        ["mpicc", "-rdynamic", "-O0", str(source), "-o", str(program), "-ldl"], check=True
    )
    preload = BUILD / "lib" / "sobor" / "libsobor.so"
    launch = ["mpirun", "-n", "2", "env", f"LD_PRELOAD={preload}", str(program), str(rank)]
    rootly = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    chosen = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "SOBOR_PRICES": "built-in"}
    environment = {**rootly, **chosen, **os.environ}
    done = subprocess.run(
        launch, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    calls: dict[str, list[tuple[int, str, str]]] = {}
    for line in done.stdout.splitlines():
        call, depth, path, offset = line.split()
        calls.setdefault(call, []).append((int(depth), path, offset))
    chains = Counter(map(tuple, calls.values()))
    most = max(chains.values(), default=0)
    usual = [chain for chain, times in chains.items() if times >= min(SEVERAL, most)]
    return list(min(usual, key=len, default=()))


def resolve(entries: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    """Depth, function and file."""
    found = []
    for depth, path, offset in entries:
        text = subprocess.run(
            ["addr2line", "-f", "-e", path, offset], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        file = text[1].rsplit(":", 1)[0].split("/src/", 1)[-1]
        found.append((depth, text[0], INCLUDED_BY.get(file, file)))
    return found


def count(chain: list[tuple[int, str, str]]) -> tuple[int, int, int]:
    """Functions, files that are compiled, and headers."""
    functions = {(function, file) for _, function, file in chain}
    files = {file for _, file in functions}
    ends = [Path(file).suffix for file in files]
    return len(functions), ends.count(".c"), ends.count(".h")


def show(chain: list[tuple[int, str, str]]) -> int:
    """Prints the chain; the exit status."""
    for depth, function, file in chain:
        print(f"{'  ' * depth}{function:<{max(1, 44 - 2 * depth)}} {file}")
    functions, entered, headers = count(chain)
    inline = f"inline functions of {headers} headers"
    print(f"{functions} functions: {entered} files entered, {inline}")
    if 0 < entered <= FILES_MOST:
        return 0
    print(f"expected 1 to {FILES_MOST} files, found {entered}", file=sys.stderr)
    return 1


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rank", type=int, default=0, help="whose calls (0: the root)")
    parser.add_argument("--no-build", action="store_true", help="the build is there already")
    options = parser.parse_args()
    if not options.no_build:
        build()
    return show(resolve(run(options.rank)))


if __name__ == "__main__":
    sys.exit(main())
