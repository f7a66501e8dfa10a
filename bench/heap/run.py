#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the heap brings: plain programs in new processes, with it and without, in turn.

Data is written anew before each operation and the result is read. Sides: the host alone (bare),
with the heap (bare_heap), Sobor (sobor), with the heap (heap), and further builds (--lib), whose
name ends in _heap if they are to have it. A side may have settings of its own, as in
heap+SOBOR_CMA=off. Shown are the times of the first of --sides, and how much faster the others are:
medians of launches, the least and the largest.
"""

from __future__ import annotations

import argparse
import json
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

OPERATIONS = (
    "bcast reduce allreduce allreduce_in_place reduce_scatter_block scatter gather allgather"
    " alltoall message"
).split()
#: What a user who is root and has two processors needs to say; nothing that chooses a transport.
LAUNCH = {
    name: value
    for name, value in mpis.LAUNCH_ENVIRONMENT.items()
    if "RUN_AS_ROOT" in name or name.startswith("I_MPI_")
}


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build" / "release")
    parser.add_argument("--mpi", default="o41", help="keys of tests/mpi/mpis.py, by comma")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--operations", default=",".join(OPERATIONS))
    parser.add_argument("--parts", default="call,loop", help="of call, bare, loop")
    parser.add_argument("--buffers", default="same,others")
    parser.add_argument("--lowest", type=int, default=32 << 10)
    parser.add_argument("--highest", type=int, default=1 << 20)
    parser.add_argument("--step", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.2, help="a size")
    parser.add_argument("--offset", type=int, default=16, help="of buffers in their page")
    parser.add_argument("--launches", type=int, default=6)
    parser.add_argument("--sides", default="sobor,heap")
    parser.add_argument("--lib", action="append", default=[], metavar="NAME=LIBSOBOR.SO")
    parser.add_argument("--set", action="append", default=[], metavar="SOBOR_VARIABLE=VALUE")
    parser.add_argument("--out", type=Path, help="a line of JSON for each run goes at its end")
    return parser.parse_args()


def preloads(side: str, options: argparse.Namespace) -> list[str]:
    """What stands in LD_PRELOAD, as `sobor run` says it."""
    libraries = options.build.resolve() / "lib" / "sobor"
    built = dict(word.split("=", 1) for word in options.lib)
    side = side.split("+", maxsplit=1)[0]
    ours = Path(built.get(side, libraries / "libsobor.so"))
    heap = side == "heap" or side.endswith("_heap")
    words = [str(ours.parent / "libsobor-heap.so")] if heap else []
    return words if side.startswith("bare") else [*words, str(ours)]


def launch(mpi: mpis.Mpi, program: Path, words: list, side: str, options) -> dict:
    """Microseconds by bytes of one job, and the line's round trip under "line"."""
    objects = preloads(side, options)
    settings = [*options.set, *side.split("+")[1:]]
    variables = dict(word.split("=", 1) for word in settings) if objects else {}
    if objects:
        variables["LD_PRELOAD"] = ":".join(objects)
    if any("heap" in name for name in objects):
        variables["SOBOR_HEAP"] = "on"
    command = [*mpi.command(options.ranks, variables), str(program), *map(str, words)]
    done = subprocess.run(
        command,
        env={**os.environ, **LAUNCH},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"run.py: {' '.join(command)} failed:\n{done.stderr}")
    trip, *rows = done.stdout.split("\n")
    return {"line": float(trip)} | {
        int(row.split()[0]): float(row.split()[1]) for row in rows if row.strip()
    }


def compare(mpi, program, named: dict, options) -> None:
    """All launches of one operation, part and buffers: of each side, one after the other."""
    sides = options.sides.split(",")
    sizes = [options.lowest, options.highest, options.step]
    words = [*named.values(), *sizes, options.seconds, options.offset]
    runs = []
    for turn in range(options.launches):
        # A process gets the pages that the one before has freed in the opposite order: with a fixed
        # one of sides each would always have the same, and one of them those that are slower.
        for side in sides if turn % 2 == 0 else reversed(sides):
            times = launch(mpi, program, words, side, options)
            runs.append(
                {"mpi": mpi.key, "ranks": options.ranks, **named, "side": side}
                | {"line": times.pop("line"), "us": times}
            )
    if options.out:
        with options.out.open("a") as out:
            out.writelines(json.dumps(run) + "\n" for run in runs)
    show(runs, sides)


def show(runs: list[dict], sides: list[str]) -> None:
    """One table."""
    trips = [run["line"] for run in runs]
    kind = " ".join(str(runs[0][name]) for name in ("mpi", "operation", "part", "buffers"))
    middle = statistics.median(trips)
    print(f"{kind} (line {min(trips):.2f} to {max(trips):.2f} us, median {middle:.2f})")
    of = {side: [run["us"] for run in runs if run["side"] == side] for side in sides}
    for size in of[sides[0]][0]:
        base = [row[size] for row in of[sides[0]]]
        cells = ""
        for side in sides[1:]:
            each = sorted(b / row[size] for b, row in zip(base, of[side], strict=True))
            cells += f"  {side} {statistics.median(each):.2f} ({each[0]:.2f} - {each[-1]:.2f})"
        print(f"  {size:>8} {statistics.median(base):>9.2f} us{cells}")
    sys.stdout.flush()


def build(mpi: mpis.Mpi, folder: Path) -> Path:
    """The program for one MPI."""
    program = folder / f"heap-{mpi.key}"
    subprocess.run(
        [mpi.compilers["c"], "-O3", str(HERE / "heap.c"), "-o", str(program)],
        env={**os.environ, **LAUNCH},
        check=True,
    )
    return program


def main() -> None:
    """The command."""
    options = arguments()
    known = mpis.all_mpis()
    with tempfile.TemporaryDirectory() as folder:
        for mpi in (known[key] for key in options.mpi.split(",")):
            program = build(mpi, Path(folder))
            for operation in options.operations.split(","):
                for part in options.parts.split(","):
                    for buffers in options.buffers.split(","):
                        named = {"operation": operation, "part": part, "buffers": buffers}
                        compare(mpi, program, named, options)


if __name__ == "__main__":
    main()
