#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the heap brings: plain programs in new processes, with it and without, in turn.

Data is written anew before each operation and the result is read. Sides: the host alone (bare),
with the heap (bare_heap), Sobor (sobor), with the heap (heap), and further builds (--lib), whose
name ends in _heap if they are to have it. Two launches of one build may differ by more than what is
looked for, so a side may have something beside it, in turns in one process: buffers that no heap
shares (heap-others); of two ranks, plain loops that read the other's buffers where they are
(heap-direct), or do so and sum by halves (heap-halves). Of such a side it is shown how much faster
it is than what is beside it. A side may have settings of its own, as in heap+SOBOR_CMA=off. Shown
are the times of the first of --sides, and how much faster the others are: medians of launches, the
least and the largest.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import launches  # noqa: E402 - it is found by the line above

LIMIT = str(HERE.parent / "limits" / "limit.c")
OPERATIONS = (
    "bcast reduce allreduce allreduce_in_place reduce_scatter_block scatter gather allgather"
    " alltoall message"
).split()


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = launches.parser(__doc__.splitlines()[0], OPERATIONS)
    parser.set_defaults(lowest=32 << 10, step=2, launches=6)
    parser.add_argument("--parts", default="call,loop", help="of call, bare, loop")
    parser.add_argument("--buffers", default="same,others")
    parser.add_argument(
        "--behind", type=int, default=0, help="bytes that results are off data's place"
    )
    parser.add_argument("--seconds", type=float, default=0.2, help="a size")
    parser.add_argument("--sides", default="sobor,heap")
    return parser.parse_args()


BESIDE = ("others", "direct", "halves")


def parts_of(side: str) -> tuple[str, list[str]]:
    """A side's library, and what is beside it."""
    library, _, beside = side.split("+", maxsplit=1)[0].partition("-")
    if beside and beside not in BESIDE:
        sys.exit(f"run.py: --sides: '{side}': beside is one of {', '.join(BESIDE)}")
    return library, [beside] if beside else []


def preloads(side: str, options: argparse.Namespace) -> list[str]:
    """What stands in LD_PRELOAD, as `sobor run` says it."""
    libraries = options.build.resolve() / "lib" / "sobor"
    built = dict(word.split("=", 1) for word in options.lib)
    side = parts_of(side)[0]
    ours = Path(built.get(side, libraries / "libsobor.so"))
    heap = side == "heap" or side.endswith("_heap")
    words = [str(ours.parent / "libsobor-heap.so")] if heap else []
    return words if side.startswith("bare") else [*words, str(ours)]


def variables(side: str, options: argparse.Namespace) -> dict[str, str]:
    """The environment of one side's ranks."""
    objects = preloads(side, options)
    if not objects:
        return {}
    settings = dict(word.split("=", 1) for word in [*options.set, *side.split("+")[1:]])
    heap = {"SOBOR_HEAP": "on"} if any("heap" in name for name in objects) else {}
    return {**settings, "LD_PRELOAD": ":".join(objects), **heap}


def compare(mpi, program, named: dict, options) -> None:
    """All launches of one operation, part and buffers: of each side, one after the other."""
    sides = options.sides.split(",")
    sizes = [options.lowest, options.highest, options.step]
    words = [*named.values(), *sizes, options.seconds, f"{options.offset}:{options.behind}"]
    runs = []
    for side in launches.in_turn(sides, options.launches):
        given = variables(side, options)
        told = [*words, *parts_of(side)[1]]
        times = launches.launch(mpi, program, told, options.ranks, given)
        runs.append(
            {"mpi": mpi.key, "ranks": options.ranks, **named, "side": side}
            | {"line": times.pop("line"), "beside": times.pop("beside"), "us": times}
        )
    launches.keep(runs, options.out)
    show(runs, sides)


def show(runs: list[dict], sides: list[str]) -> None:
    """One table."""
    trips = [run["line"] for run in runs]
    kind = " ".join(str(runs[0][name]) for name in ("mpi", "operation", "part", "buffers"))
    middle = statistics.median(trips)
    print(f"{kind} (line {min(trips):.2f} to {max(trips):.2f} us, median {middle:.2f})")
    of = {side: [run["us"] for run in runs if run["side"] == side] for side in sides}
    beside = {side: [run["beside"] for run in runs if run["side"] == side] for side in sides}
    for size in of[sides[0]][0]:
        base = [row[size] for row in of[sides[0]]]
        cells = ""
        for side in sides:
            in_turns = parts_of(side)[1]
            if side == sides[0] and not in_turns:
                continue
            bases = [row[size] for row in beside[side]] if in_turns else base
            each = sorted(b / row[size] for b, row in zip(bases, of[side], strict=True))
            cells += f"  {side} {statistics.median(each):.2f} ({each[0]:.2f} - {each[-1]:.2f})"
        print(f"  {size:>8} {statistics.median(base):>9.2f} us{cells}")
    sys.stdout.flush()


def main() -> None:
    """The command."""
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        for mpi in launches.chosen(options.mpi):
            program = launches.build(mpi, HERE / "heap.c", Path(folder), "-O3", LIMIT)
            for operation in options.operations.split(","):
                for part in options.parts.split(","):
                    for buffers in options.buffers.split(","):
                        named = {"operation": operation, "part": part, "buffers": buffers}
                        compare(mpi, program, named, options)


if __name__ == "__main__":
    main()
