# SPDX-License-Identifier: BSD-3-Clause
"""Operations over nodes beside the best flat algorithm of a host, on simulated clusters: at few
points, at all of them with SOBOR_TEST_LONG=1.

usage: check_figures.py SOBOR-SIMULATE
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

MACHINES = Path(__file__).resolve().parents[2] / "share/sobor/machines"
RANKS = {"cluster-16x8": (16, 128), "cluster-8x64": (8, 512), "cluster-128x8": (128, 1024)}
K, M = 1 << 10, 1 << 20

# Machine, operation, bytes; at most so many times the best flat time, of ranks in blocks and dealt
# round the nodes; None: not asked.
SHORT = (
    ("cluster-16x8", "barrier", 0, 0.8, 0.8),
    ("cluster-16x8", "allreduce", 8, 0.6, 0.6),
    ("cluster-16x8", "allreduce", K, 0.35, 0.35),
    ("cluster-16x8", "allreduce", 2 * K, 0.4, 0.4),
    ("cluster-16x8", "allreduce", 4 * K, 0.45, 0.45),
    ("cluster-16x8", "allreduce", 8 * K, 0.55, 0.3),
    ("cluster-16x8", "allreduce", 16 * K, 0.71, 0.3),
    ("cluster-16x8", "allreduce", 64 * K, 0.8, 0.3),
    ("cluster-16x8", "bcast", 64 * K, 0.6, 0.6),
    ("cluster-16x8", "alltoall", 64, 0.35, 0.35),
    ("cluster-8x64", "barrier", 0, 0.65, 0.65),
    ("cluster-8x64", "allreduce", 8, 0.5, None),
    ("cluster-8x64", "allreduce", 4 * K, 0.45, None),
    ("cluster-8x64", "allreduce", 64 * K, 0.75, None),
)
LONG = (
    ("cluster-16x8", "allreduce", 256 * K, 0.95, 0.3),
    ("cluster-16x8", "allreduce", M, 0.95, 0.3),
    ("cluster-16x8", "bcast", M, 0.63, 0.6),  # of a scatter and a ring; of the binomial tree 0.27
    ("cluster-8x64", "allreduce", K, 0.55, 0.55),
    ("cluster-8x64", "allreduce", 16 * K, 0.55, 0.55),
    ("cluster-8x64", "allreduce", 32 * K, 0.8, None),
    ("cluster-8x64", "allreduce", 64 * K, None, 0.3),
    ("cluster-8x64", "allreduce", 256 * K, 0.75, 0.3),
    ("cluster-8x64", "allreduce", M, 0.7, 0.3),
    ("cluster-8x64", "bcast", 64 * K, 0.6, 0.6),
    ("cluster-128x8", "allgather", 64, 0.85, None),
)


def ratio(simulator: str, machine: str, operation: str, size: int, how: str) -> float:
    nodes, ranks = RANKS[machine]
    words = {
        "--machine": MACHINES / f"{machine}.json",
        "--nodes": nodes,
        "--ranks": ranks,
        "--map": how,
        "--bytes": size,
        "--calls": 1,
        "--warmup": 3 if ranks > nodes * 32 and size >= 16 * K else 1,  # memory takes turns
    }
    if operation == "alltoall":
        words["--algorithm"] = "cluster,host-pairwise"
    if operation == "allgather":
        # Not BAGDS, which takes as long as recursive doubling, 6 times the ring's: each of 1024
        # ranks would work out all transfers.
        words["--algorithm"] = "cluster,host-ring,host-recursive-doubling,host-bruck"
    if operation == "allreduce":
        words["--algorithm"] = "cluster,host-rabenseifner"
        if size < 64 * K:
            words["--algorithm"] += ",host-recursive-doubling"
        # Steps of the ring grow with ranks: 512 take 810 us for 16 KiB and 836 for 256 KiB, where
        # the fastest take 21 and 74.
        if ranks <= 128 or size >= M:
            words["--algorithm"] += ",host-ring"
    command = [simulator, operation, *(str(word) for pair in words.items() for word in pair)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    times = {row["algorithm"]: row["median_us"] for row in json.loads(done.stdout)}
    own = times.pop("cluster")
    return own / min(times.values())


def main() -> int:
    is_long = os.environ.get("SOBOR_TEST_LONG", "") not in ("", "0")
    wanted = SHORT + (LONG if is_long else ())
    slow = 0
    for machine, operation, size, block, dealt in wanted:
        for how, most in ("core", block), ("node", dealt):
            if most is None:
                continue
            found = ratio(sys.argv[1], machine, operation, size, how)
            word = "" if found <= most else "  too slow"
            slow += bool(word)
            print(f"{machine} {operation} {size} {how}: {found:.3f}, at most {most}{word}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
