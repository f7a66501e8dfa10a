# SPDX-License-Identifier: BSD-3-Clause
"""Fits the numbers of kunpeng920-2s that nobody measured to the published times of barriers.

fit_machine.py [--seconds N] [--seed N] [--machine FILE] [--write]

Searches, from the machine's file on, for one set of numbers with which the simulator comes nearest
to all published times of barriers in shared memory at once: 7 of 64 processes on one processor, and
10 of 128 under three mappings. No number belongs to an algorithm. Shown is what was fitted, and how
near it comes; --write puts the numbers into the file. The search is random.
"""

import argparse
import json
import math
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from sobor.machines import PARAMETERS, find_machine  # noqa: E402
from sobor.native import find_native  # noqa: E402
from sobor.simulate.engine import run_engine  # noqa: E402
from sobor.study.barrier import HIERARCHICAL, MACHINE, SHARED  # noqa: E402
from sobor.study.published import rank_correlation, read  # noqa: E402

# Least, greatest. Whole numbers of lines; the others are nanoseconds.
BOUNDS: dict[str, tuple[float, float]] = {
    "call": (1, 1000),
    "read_overlap": (1, 16),
    "write_overlap": (1, 16),
    "invalidate_per_sharer": (0, 30),
    "atomic_extra": (5, 400),
    "atomic_crowded": (0.1, 400),
    "line_service": (2, 60),
    "share_service": (2, 80),
    "read_gap": (0.1, 40),
    "home_service": (0.5, 25),
    "link_service": (1, 60),
    "store": (0.4, 40),
    "read_machine": (150, 230),
    "invalidate_numa": (15, 80),
    "invalidate_package": (80, 150),
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
WORDS = ("--sync", "chain", "--calls", "4", "--warmup", "2", "--cold", "off")
MAPS = ("core", "numa", "socket")

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


def times(path: Path, ranks: int, mapping: str, names: tuple[str, ...]) -> list[float]:
    """Microseconds of the barriers."""
    words = ("barrier", "--machine", str(path), "--ranks", str(ranks), "--map", mapping)
    rows = run_engine(find_native(), (*words, "--algorithm", ",".join(names), *WORDS), None)
    found = {row["algorithm"]: row["median_us"] for row in rows}
    return [found[name] for name in names]


def compare(machine: dict[str, Any]) -> dict[str, Pairs]:
    """Published and simulated times of each table."""
    figures = read("barrier")["figures"]
    with tempfile.TemporaryDirectory(prefix="sobor-") as folder:
        path = Path(folder) / "fit.json"
        path.write_text(json.dumps(machine), encoding="utf-8")
        known = [figures["4"][name]["core"] for name in SHARED]
        found = {"64 by core": list(zip(known, times(path, 64, "core", SHARED), strict=True))}
        for mapping in MAPS:
            names = SHARED + HIERARCHICAL
            known = [figures["table"][name][mapping] for name in names]
            shown = times(path, 128, mapping, names)
            found[f"128 by {mapping}"] = list(zip(known, shown, strict=True))
    return found


def correlation_of(pairs: Pairs) -> float:
    """The rank correlation of a table."""
    return rank_correlation([pair[0] for pair in pairs], [pair[1] for pair in pairs])


def badness(found: dict[str, Pairs]) -> float:
    """What the search makes small: the mean distance, and what rank correlations lack to 0.88."""
    apart = [abs(math.log(a / b)) for pairs in found.values() for a, b in pairs]
    outside = sum(max(0.0, each - math.log(1.45)) for each in apart)
    lack = sum(max(0.0, 0.88 - correlation_of(pairs)) for pairs in found.values())
    return sum(apart) / len(apart) + outside / 10 + 2 * lack


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


def search(machine: dict[str, Any], seconds: float, seed: int) -> Values:
    """The best that was found in that time."""
    source = random.Random(seed)
    numbers = machine["parameters"]
    best = {name: float(numbers.get(name, {"value": 1})["value"]) for name in BOUNDS}
    least = badness(compare(applied(machine, best)))
    end = time.monotonic() + seconds
    width = 0.4
    while time.monotonic() < end:
        tried = another(best, width, source)
        value = badness(compare(applied(machine, tried)))
        better = value < least
        if better:
            best, least = tried, value
        width = min(0.8, width * 1.3) if better else max(0.05, width * 0.98)
    return best


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


main()
