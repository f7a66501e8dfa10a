# SPDX-License-Identifier: BSD-3-Clause
"""Compares simulated barriers on kunpeng920-2s with the published times of that machine.

Published: osu_barrier on 2 x Kunpeng 920-6426, 128 ranks, in microseconds, for ranks dealt by core,
by NUMA node and by socket. Shown are both, the rank correlation by Spearman, and how much each
algorithm varies over the three.
"""

import json
import subprocess
import sys
from statistics import correlation, fmean, stdev

MAPS = ("core", "numa", "socket")
PUBLISHED = {
    "central": (50.35, 45.55, 52.8),
    "flat-counter": (4.41, 5.1, 4.64),
    "flat-gather-release": (6.80, 7.18, 6.98),
    "combining-tree": (3.09, 3.92, 3.63),
    "mcs": (3.31, 5.47, 4.9),
    "tournament": (3.83, 3.59, 7.38),
    "dissemination": (4.37, 3.45, 3.85),
    "hierarchical-numa+package": (3.25, 2.86, 3.16),
    "hierarchical-numa": (2.98, 2.68, 3.03),
    "hierarchical-package": (3.69, 3.34, 3.16),
}


def simulated(arguments: list[str]) -> dict[str, tuple[float, ...]]:
    """Medians by algorithm, in the order of MAPS."""
    command = [sys.executable, "-m", "sobor", "simulate", "barrier", "--machine", "kunpeng920-2s"]
    command += ["--ranks", "128", "--algorithm", ",".join(PUBLISHED), "--map", ",".join(MAPS)]
    command += ["--json", "-", *arguments]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if answer.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {answer.returncode}")
    times = {(row["algorithm"], row["map"]): row["median_us"] for row in json.loads(answer.stdout)}
    return {name: tuple(times[name, mapping] for mapping in MAPS) for name in PUBLISHED}


def ranks(values: list[float]) -> list[float]:
    """The place of each value in their order; equal values share the mean of their places."""
    order = sorted(values)
    return [order.index(value) + (order.count(value) + 1) / 2 for value in values]


def variation(times: tuple[float, ...]) -> float:
    """Coefficient of variation in percent."""
    return 100 * stdev(times) / fmean(times)


def main() -> None:
    """Writes the comparison as Markdown. Arguments are handed to sobor simulate."""
    found = simulated(sys.argv[1:])
    heads = [f"by {mapping}: published, simulated" for mapping in MAPS]
    print("| algorithm | " + " | ".join(heads) + " | variation: published, simulated |")
    print("| --- |" + " ---: |" * (len(MAPS) + 1))
    for name, known in PUBLISHED.items():
        cells = [f"{a:.2f}, {b:.2f}" for a, b in zip(known, found[name], strict=True)]
        spread = f"{variation(known):.1f} %, {variation(found[name]):.1f} %"
        print(f"| `{name}` | " + " | ".join(cells) + f" | {spread} |")
    print()
    for place, mapping in enumerate(MAPS):
        known = [times[place] for times in PUBLISHED.values()]
        shown = [found[name][place] for name in PUBLISHED]
        spearman = correlation(ranks(known), ranks(shown))
        best = min(shown)
        print(
            f"By {mapping}: rank correlation {spearman:.2f}; hierarchical-numa is "
            f"{found['hierarchical-numa'][place] / best:.2f} times the best, central "
            f"{found['central'][place] / best:.1f} times."
        )


main()
