#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds the sums of sobor profile against those of a profiler of its own (timer.c, by PMPI).

usage: bench/profiled/run.py [--sobor PROGRAM] [--compiler MPICC] [--floor] -- LAUNCHER ...

Both are in the same run of the command, which is one as `sobor profile` takes it; the other
profiler stands in front. For each operation: calls, milliseconds of one rank by both, and how far
they are apart, in percent and in nanoseconds a call. What the other profiler's own readings of the
clock take, measured in the same run with nothing between them, is taken off. The exit status is 1
where an operation is apart by more than 2 percent and more than 60 ns a call. With --floor Sobor
has no part in it, and a copy of the other profiler stands for it: no two can agree better.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
MOST_PERCENT, MOST_NS = 2, 60


def others_sums(folder: Path, prefix: str) -> dict[str, tuple[float, float]]:
    """Operation to calls and milliseconds, means over the ranks; empty readings taken off."""
    sums = defaultdict(lambda: [0.0, 0.0])
    files = list(folder.glob(f"{prefix}-*.txt"))
    for file in files:
        rows = [line.split() for line in file.read_text().splitlines()]
        found = {name.lower(): (int(calls), int(ns)) for name, calls, ns in rows}
        calls, ns = found.pop("empty")
        for name, (made, taken) in found.items():
            sums[name][0] += made / len(files)
            sums[name][1] += (taken - made * ns / calls) / 1e6 / len(files)
    return {name: (calls, ms) for name, (calls, ms) in sums.items() if calls}


def own_sums(profile: dict) -> dict[str, tuple[float, float]]:
    """The same from what sobor profile wrote."""
    sums = defaultdict(lambda: [0.0, 0.0])
    for row in profile["calls"]:
        share = row["members"] / profile["ranks"]
        sums[row["operation"]][0] += row["calls"] * share
        sums[row["operation"]][1] += row["total_us_mean"] * share / 1e3
    return {name: (calls, ms) for name, (calls, ms) in sums.items()}


def build(options: argparse.Namespace, folder: Path, *more: str) -> str:
    """The other profiler, as a library."""
    library = folder / f"timer{len(more)}.so"
    # Names are bound at once: to bind one takes longer than a call, and would be in the sums.
    words = [options.compiler, "-O2", "-shared", "-fPIC", "-Wl,-z,now", *more]
    subprocess.run([*words, HERE / "timer.c", "-o", library], check=True)
    return str(library)


def run(options: argparse.Namespace, folder: Path, words: list, libraries: list[str]) -> None:
    """The command, with these libraries in front."""
    environment = {**os.environ, "LD_PRELOAD": ":".join(libraries), "TIMER_FOLDER": str(folder)}
    line = [*words, *options.command]
    subprocess.run(line, env=environment, stdout=sys.stderr, check=True, timeout=1800)


def measure(options: argparse.Namespace, folder: Path) -> tuple[dict, dict]:
    """The sums of both, of one run."""
    timer = build(options, folder)
    if options.floor:
        run(options, folder, [], [build(options, folder, "-DAROUND"), timer])
        return others_sums(folder, "around"), others_sums(folder, "timer")
    made = folder / "profile.json"
    run(options, folder, [options.sobor, "profile", "--json", made, "--"], [timer])
    return others_sums(folder, "timer"), own_sums(json.loads(made.read_text()))


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sobor", default=HERE.parents[1] / "sobor")
    parser.add_argument("--compiler", default="mpicc")
    parser.add_argument("--floor", action="store_true")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        theirs, ours = measure(options, Path(scratch))
    apart = 0
    print(
        f"{'operation':22}{'calls':>10}{'other, ms':>12}{'ours, ms':>12}{'%':>8}{'ns a call':>11}"
    )
    for name in sorted(theirs.keys() | ours.keys()):
        calls, other = theirs.get(name, (0, 0.0))
        own_calls, own = ours.get(name, (0, 0.0))
        percent = 100 * (other - own) / other if other else 0.0
        ns = 1e6 * (other - own) / calls if calls else 0.0
        bad = abs(percent) > MOST_PERCENT and abs(ns) > MOST_NS
        bad |= abs(calls - own_calls) > 1e-6 * calls
        apart += bad
        row = f"{name:22}{calls:10.0f}{other:12.3f}{own:12.3f}{percent:8.1f}{ns:11.0f}"
        print(row + ("   apart" if bad else ""))
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
