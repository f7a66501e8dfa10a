# SPDX-License-Identifier: BSD-3-Clause
"""Fits the numbers of kunpeng920-2s that nobody measured to the published times of barriers.

fit_machine.py [--seconds N] [--seed N] [--machine FILE] [--write]

Searches, from the machine's file on, for one set of numbers with which the simulator comes nearest
to all published times of barriers in shared memory at once: 7 of 64 processes on one processor, and
10 of 128 under three mappings. What is compared is what `sobor study barrier` reports: the same
calls, runs and seeds, the least and the greatest left out. No number belongs to an algorithm. Shown
is what was fitted, and how near it comes; --write puts the numbers into the file. The search is
random; with --seconds 0 there is none.
"""

import argparse
import json
import math
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from sobor.machines import PARAMETERS, find_machine  # noqa: E402
from sobor.native import find_native  # noqa: E402
from sobor.simulate.engine import run_engine  # noqa: E402
from sobor.study.barrier import FIGURES, HIERARCHICAL, MACHINE, SHARED, case  # noqa: E402
from sobor.study.place import simulated, trimmed  # noqa: E402
from sobor.study.published import rank_correlation, read  # noqa: E402

# Least, greatest. Whole numbers of lines; the others are nanoseconds. What is known of them: a line
# from a core of the same die takes 36, of the other die 82 (core-to-core); of the other package 230
# at most. To take one away is a way to its home and from there to who holds it: twice as long, and
# a die more, at most. A home can do no more than its memory, 80 GB/s, and a link no more than its
# 50 GB/s, of 64 bytes each; and no less than with a dozen requests under way. The directory tells
# one sharer after another, in 20 cycles of its clock at most.
BOUNDS: dict[str, tuple[float, float]] = {
    "call": (1, 1000),
    "read_overlap": (1, 16),
    "write_overlap": (1, 16),
    "invalidate_per_sharer": (0, 10),
    "atomic_extra": (5, 400),
    "atomic_crowded": (0.1, 400),
    "line_service": (2, 60),
    "share_service": (2, 80),
    "read_gap": (0.1, 40),
    "home_service": (0.8, 12),
    "link_service": (1.3, 19),
    "store": (0.4, 40),
    "read_machine": (150, 230),
    "invalidate_numa": (36, 80),
    "invalidate_package": (82, 200),
}
WHOLE = ("read_overlap", "write_overlap")
# What crosses the same path takes the same time.
TIED = {
    "read_machine": {"invalidate_machine": 0.0, "memory_machine": 65.0},
    "invalidate_numa": {"invalidate_l3": 0.0},
}
SOURCE = (
    "fitted: scripts/fit_machine.py, one fit of the numbers that nobody measured to the 37 "
    "published times of barriers in shared memory on this machine (docs/barrier.md)"
)
MAPS = ("core", "numa", "socket")
# Runs of the simulator at once.
JOBS = 2
# A first run tells this well how good all will be.
FIRST_RUN = 0.05

Values = dict[str, float]
Pairs = list[tuple[float, float]]


def applied(machine: dict[str, Any], values: Values) -> dict[str, Any]:
    """The machine with these numbers."""
    changed = json.loads(json.dumps(machine))
    numbers = changed["parameters"]
    for name, number in values.items():
        known = numbers.get(name)
        value = int(number) if number == int(number) else number
        if known is None or known["value"] != value or known["source"].startswith("fitted"):
            unit = "lines" if name in WHOLE else "ns"
            entry = {"value": value, "unit": unit, "source": SOURCE, "assumed": True}
            numbers[name] = {**(known or {}), **entry}
        for other, more in TIED.get(name, {}).items():
            if numbers[other]["value"] != value + more:
                numbers[other] = {**numbers[other], "value": round(value + more, 1)}
    changed["parameters"] = {name: numbers[name] for name in PARAMETERS if name in numbers}
    return changed


@dataclass(frozen=True)
class Table:
    """A table of published times, as `sobor study barrier` has it."""

    name: str
    figure: str
    mapping: str
    algorithms: tuple[str, ...]

    def setting(self, name: str) -> str:
        """What the study takes where nothing else is said."""
        figure = next(each for each in FIGURES if each.name == self.figure)
        return next(each.default for each in figure.settings if each.name == name)

    def published(self) -> list[float]:
        """In the order of the algorithms."""
        known = read("barrier")["figures"][self.figure]
        return [known[name][self.mapping] for name in self.algorithms]

    def seeds(self) -> range:
        """Of the study's runs."""
        first = int(self.setting("seed"))
        return range(first, first + int(self.setting("runs")))

    def run(self, path: Path, seed: int) -> list[float]:
        """One run of all algorithms: one by one they take as long, as the clock is simulated."""
        ranks, calls = int(self.setting("ranks")), int(self.setting("calls"))
        row = case(",".join(self.algorithms), ranks, self.mapping, calls)
        rows = run_engine(find_native(), simulated(path, row, seed), None)
        found = {row["algorithm"]: row["median_us"] for row in rows}
        return [found[name] for name in self.algorithms]


TABLES = (
    Table("64 by core", "4", "core", SHARED),
    *(Table(f"128 by {each}", "table", each, SHARED + HIERARCHICAL) for each in MAPS),
)


def compare(machine: dict[str, Any], runs: int | None = None) -> dict[str, Pairs]:
    """Published and simulated times of each table: of all runs of the study, or the first few."""
    with tempfile.TemporaryDirectory(prefix="sobor-") as folder, ThreadPoolExecutor(JOBS) as pool:
        path = Path(folder) / "fit.json"
        path.write_text(json.dumps(machine), encoding="utf-8")
        wanted = [(table, seed) for table in TABLES for seed in table.seeds()[:runs]]
        times = dict(
            zip(wanted, pool.map(lambda each: each[0].run(path, each[1]), wanted), strict=True)
        )
    found = {}
    for table in TABLES:
        series = zip(*(times[table, seed] for seed in table.seeds()[:runs]), strict=True)
        ours = [trimmed(list(values)) for values in series]
        found[table.name] = list(zip(table.published(), ours, strict=True))
    return found


def correlation_of(pairs: Pairs) -> float:
    """The rank correlation of a table."""
    return rank_correlation([pair[0] for pair in pairs], [pair[1] for pair in pairs])


# Two times so near each other are in no order: which is first may be the seed's.
NEAR = 0.015


def soft_places(values: list[float]) -> list[float]:
    """The place of each in their order; of two that are near, each takes some of either place."""
    logs = [math.log(value) for value in values]
    return [
        0.5 + sum(1 / (1 + math.exp(min((other - own) / NEAR, 50))) for other in logs)
        for own in logs
    ]


def soft_correlation(pairs: Pairs) -> float:
    """The rank correlation, such that it moves before two values change places."""
    known = soft_places([pair[0] for pair in pairs])
    found = soft_places([pair[1] for pair in pairs])
    apart = sum((a - b) ** 2 for a, b in zip(known, found, strict=True))
    return 1 - 6 * apart / (len(pairs) * (len(pairs) ** 2 - 1))


def badness(found: dict[str, Pairs]) -> float:
    """What the search makes small: the mean distance, and what rank correlations lack to 0.84."""
    apart = [abs(math.log(a / b)) for pairs in found.values() for a, b in pairs]
    outside = sum(max(0.0, each - math.log(1.45)) for each in apart)
    lack = sum(max(0.0, 0.84 - soft_correlation(pairs)) for pairs in found.values())
    return sum(apart) / len(apart) + outside / 5 + 4 * lack


def another(values: Values, width: float, source: random.Random) -> Values:
    """One or two of the numbers changed."""
    changed = dict(values)
    for name in source.sample(list(BOUNDS), source.choice((1, 1, 2, 3))):
        least, greatest = BOUNDS[name]
        moved = values[name] * math.exp(source.gauss(0, width)) + source.gauss(0, width)
        if name == "call":
            moved += source.gauss(0, 200 * width)
        moved = min(max(moved, least), greatest)
        changed[name] = round(moved) if name in WHOLE else float(f"{moved:.3g}")
    return changed


@dataclass
class Found:
    """The best numbers so far, and how bad they are in the first run, and in all."""

    values: Values
    first: float
    all: float


def tried(machine: dict[str, Any], values: Values, best: Found | None) -> Found | None:
    """These numbers, if they are better. Most are known to be worse by one run."""
    fitted = applied(machine, values)
    first = badness(compare(fitted, 1))
    if best is not None and first > best.first + FIRST_RUN:
        return None
    found = Found(values, first, badness(compare(fitted)))
    return found if best is None or found.all < best.all else None


def search(machine: dict[str, Any], seconds: float, seed: int) -> Values:
    """The best that was found in that time."""
    source = random.Random(seed)
    numbers = machine["parameters"]
    values = {name: float(numbers.get(name, {"value": 1})["value"]) for name in BOUNDS}
    best = tried(machine, values, None)
    assert best is not None
    end = time.monotonic() + seconds
    width = 0.3
    while time.monotonic() < end:
        better = tried(machine, another(best.values, width, source), best)
        best = better or best
        width = min(0.8, width * 1.3) if better else max(0.05, width * 0.98)
    return best.values


def report(values: Values, found: dict[str, Pairs]) -> None:
    """Writes what was fitted and how near it comes."""
    for name, value in values.items():
        print(f"{name:<24} {value:g}")
    everything = [pair for pairs in found.values() for pair in pairs]
    for name, pairs in found.items():
        cells = ", ".join(f"{theirs:g} {ours:.2f}" for theirs, ours in pairs)
        print(f"{name}: rank correlation {correlation_of(pairs):.2f}; published, ours: {cells}")
    within = sum(2 / 3 <= ours / theirs <= 1.5 for theirs, ours in everything)
    print(f"{within} of {len(everything)} within a factor of 1.5")


def main() -> None:
    """Searches, shows, and writes on request."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--machine", default=MACHINE, help="a name, or a file to begin with")
    parser.add_argument("--write", action="store_true", help="put the numbers into the file")
    options = parser.parse_args()
    path = find_machine(options.machine).path
    machine = json.loads(path.read_text(encoding="utf-8"))
    values = search(machine, options.seconds, options.seed)
    fitted = applied(machine, values)
    report(values, compare(fitted))
    if options.write:
        path.write_text(write(fitted), encoding="utf-8")


def write(machine: dict[str, Any]) -> str:
    """The file's text, a line for each number."""
    head = {name: value for name, value in machine.items() if name != "parameters"}
    text = json.dumps({**head, "parameters": {}}, indent=2, ensure_ascii=False)
    lines = [
        f'    "{name}": {json.dumps(entry, ensure_ascii=False)}'
        for name, entry in machine["parameters"].items()
    ]
    return (
        text.replace('"parameters": {}', '"parameters": {\n' + ",\n".join(lines) + "\n  }") + "\n"
    )


if __name__ == "__main__":
    main()
