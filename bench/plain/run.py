#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plain programs in new processes: the host MPI alone and with Sobor, in turn.

Each run is a job of its own, so what Sobor learns while a program runs is learned within what is
timed. Shown is host time over Sobor time, the median of launches: above 1 Sobor is faster. Further
builds of the library (--lib) are launched in the same turns and have a column of their own.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import launches  # noqa: E402 - it is found by the line above

OPERATIONS = (
    "barrier bcast reduce allreduce reduce_scatter reduce_scatter_block scan exscan gather gatherv"
    " scatter scatterv allgather allgatherv alltoall alltoallv alltoallw"
).split()


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = launches.parser(__doc__.splitlines()[0], OPERATIONS)
    parser.set_defaults(lowest=8, step=4, launches=3)
    parser.add_argument("--methods", default="single,turn", help="of single, row, turn")
    parser.add_argument("--seconds", type=float, default=0, help="a size; 0: as the usual suites")
    parser.add_argument("--below", type=float, default=math.inf, help="show only such points")
    return parser.parse_args()


def compare(mpi, program, operation: str, method: str, libraries: dict, options) -> list[dict]:
    """All launches of one operation and method: of each side, one after the other."""
    sizes = [options.lowest, options.highest, options.step]
    if operation == "barrier":
        sizes = [options.lowest, options.lowest, 2]
    words = [operation, method, *sizes, options.seconds, options.offset]
    runs = []
    for side in launches.in_turn(["bare", *libraries], options.launches):
        variables = {}
        if side != "bare":
            variables = dict(word.split("=", 1) for word in options.set)
            variables["LD_PRELOAD"] = str(libraries[side])
        times = launches.launch(mpi, program, words, options.ranks, variables)
        runs.append(
            {"mpi": mpi.key, "ranks": options.ranks, "operation": operation, "method": method}
            | {"side": side, "line": times.pop("line"), "us": times}
        )
    return runs


def ratios(runs: list[dict], side: str) -> dict[int, tuple[float, float, float]]:
    """By size: the median over launches of host time over this side's, its least and largest."""
    bare = [run["us"] for run in runs if run["side"] == "bare"]
    ours = [run["us"] for run in runs if run["side"] == side]
    found = {}
    for size in bare[0]:
        each = sorted(b[size] / o[size] for b, o in zip(bare, ours, strict=True))
        found[size] = (statistics.median(each), each[0], each[-1])
    return found


def show(runs: list[dict], libraries: dict, below: float) -> None:
    """The lines of one operation and method."""
    first = runs[0]
    trips = [run["line"] for run in runs]
    tables = {side: ratios(runs, side) for side in libraries}
    title = f"{first['mpi']} {first['ranks']} {first['operation']} {first['method']}"
    means = "  ".join(
        f"{side} {statistics.geometric_mean(row[0] for row in table.values()):.2f}"
        for side, table in tables.items()
    )
    print(f"{title}: mean {means}  (line {min(trips):.2f} to {max(trips):.2f} us)")
    host = [run["us"] for run in runs if run["side"] == "bare"]
    for size in host[0]:
        if min(table[size][0] for table in tables.values()) >= below:
            continue
        cells = "".join(
            f"  {side} {table[size][0]:.2f} ({table[size][1]:.2f} - {table[size][2]:.2f})"
            for side, table in tables.items()
        )
        print(f"  {size:>9} {statistics.median(h[size] for h in host):>10.2f} us{cells}")
    sys.stdout.flush()


def main() -> None:
    """The command."""
    options = arguments()
    libraries = {"Sobor": options.build.resolve() / "lib" / "sobor" / "libsobor.so"}
    libraries |= {name: Path(path) for name, path in (word.split("=", 1) for word in options.lib)}
    with tempfile.TemporaryDirectory() as folder:
        for mpi in launches.chosen(options.mpi):
            program = launches.build(mpi, HERE / "plain.c", Path(folder), "-O2")
            for method in options.methods.split(","):
                for operation in options.operations.split(","):
                    runs = compare(mpi, program, operation, method, libraries, options)
                    launches.keep(runs, options.out)
                    show(runs, libraries, options.below)


if __name__ == "__main__":
    main()
