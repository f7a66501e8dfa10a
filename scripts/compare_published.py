# SPDX-License-Identifier: BSD-3-Clause
"""Compares what the simulator shows with published figures. Further arguments go to the simulator.

compare_published.py barrier: osu_barrier on 2 x Kunpeng 920-6426 (kunpeng920-2s), 128 ranks, in
microseconds, for ranks dealt by core, by NUMA node and by socket. Shown are both, the rank
correlation by Spearman, and how much each algorithm varies over the three.

compare_published.py vectors: Scatterv, Gatherv and Allgatherv through shared queues on
2 x E5-2620 v4 (xeon-e5-2620v4-2s), 16 ranks, and 8. Published is how much less time they take than
those of Open MPI 4.1.2, in percent; simulated is the same against the best of the algorithms made
of sends and receives.
"""

import json
import subprocess
import sys
from statistics import correlation, fmean, stdev
from typing import Any

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


# Ranks, bytes up to which the figures hold, and what was published of them.
VECTORS = {
    "scatterv": [(16, 64, "up to 60, 30 on average")],
    "gatherv": [(16, 64, "up to 90, 20 to 30 on average")],
    "allgatherv": [(16, 256, "70"), (8, 256, "30 to 40")],
}


def simulate(words: list[str]) -> list[dict[str, Any]]:
    """The rows of sobor simulate."""
    command = [sys.executable, "-m", "sobor", "simulate", *words, "--json", "-"]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if answer.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {answer.returncode}")
    return json.loads(answer.stdout)


def simulated(arguments: list[str]) -> dict[str, tuple[float, ...]]:
    """Medians by algorithm, in the order of MAPS."""
    words = ["barrier", "--machine", "kunpeng920-2s", "--ranks", "128", "--map", ",".join(MAPS)]
    rows = simulate([*words, "--algorithm", ",".join(PUBLISHED), *arguments])
    times = {(row["algorithm"], row["map"]): row["median_us"] for row in rows}
    return {name: tuple(times[name, mapping] for mapping in MAPS) for name in PUBLISHED}


def ranks(values: list[float]) -> list[float]:
    """The place of each value in their order; equal values share the mean of their places."""
    order = sorted(values)
    return [order.index(value) + (order.count(value) + 1) / 2 for value in values]


def variation(times: tuple[float, ...]) -> float:
    """Coefficient of variation in percent."""
    return 100 * stdev(times) / fmean(times)


def compare_barriers(arguments: list[str]) -> None:
    """Writes the comparison as Markdown."""
    found = simulated(arguments)
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


def saved(collective: str, ranks: int, most: int, arguments: list[str]) -> dict[str, list[float]]:
    """How much less time algorithms take than the best made of sends and receives, in percent."""
    sizes = [64 << shift for shift in range(0, 13, 2) if 64 << shift <= most << 10]
    words = [collective, "--machine", "xeon-e5-2620v4-2s", "--ranks", str(ranks), "--cold"]
    words += ["--algorithm", "all", "--calls", "8", "--warmup", "3"]
    rows = simulate([*words, "--bytes", ",".join(map(str, sizes)), *arguments])
    times = {(row["algorithm"], row["bytes"]): row["median_us"] for row in rows}
    peers = {name for name, _ in times if name.startswith("p2p-")}
    best = {size: min(times[name, size] for name in peers) for size in sizes}
    return {
        name: [100 * (1 - times[name, size] / best[size]) for size in sizes]
        for name in ("queued", "direct")
    }


def compare_vectors(arguments: list[str]) -> None:
    """Writes the comparison as Markdown."""
    print("| operation, ranks | parts up to | published | `queued`, simulated | `direct` |")
    print("| --- | ---: | --- | --- | --- |")
    for collective, figures in VECTORS.items():
        for ranks, most, published in figures:
            found = saved(collective, ranks, most, arguments)
            cells = [
                f"{min(values):.0f} to {max(values):.0f}, {fmean(values):.0f} on average"
                for values in found.values()
            ]
            print(f"| {collective}, {ranks} | {most} KiB | {published} | {' | '.join(cells)} |")


def main() -> None:
    """Runs the comparison that the first argument names."""
    compare = {"barrier": compare_barriers, "vectors": compare_vectors}
    if sys.argv[1:2] == [] or sys.argv[1] not in compare:
        sys.exit(f"usage: {sys.argv[0]} {'|'.join(compare)} [OPTIONS OF SOBOR SIMULATE]")
    compare[sys.argv[1]](sys.argv[2:])


main()
