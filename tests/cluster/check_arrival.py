# SPDX-License-Identifier: BSD-3-Clause
"""Broadcasts over nodes whose ranks come unevenly, on the simulated network of 16 nodes: beside the
published forms, and beside competition of leaders as it would be at best.

usage: check_arrival.py SOBOR-SIMULATE
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

MACHINE = Path(__file__).resolve().parents[2] / "share/sobor/machines/cluster-16x8.json"
LATENCY_US = 1.5
UNEVEN = "uniform:500us"
#: The published forms without their prefix: bytes, and nodes.
PUBLISHED = {"bt": (8000, 16), "rdaas": (40000, 16), "ringaas": (262144, 10)}


def times(algorithms, size, arrival, nodes=16, each=8, calls=16, warmup=2, what="bcast", given=()):
    """Of each algorithm the ranks' mean times: the mean of all, and the largest."""
    words = {
        "--machine": MACHINE,
        "--nodes": nodes,
        "--ranks": nodes * each,
        "--algorithm": algorithms,
        "--bytes": size,
        "--arrival": arrival,
        "--root": "rotate",
        "--calls": calls,
        "--warmup": warmup,
    }
    command = [sys.argv[1], what, *(str(word) for pair in words.items() for word in pair), *given]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)
    return {row["algorithm"]: (row["rank_mean_us"], row["rank_max_us"]) for row in rows}


def check_own(calls, widths):
    """cp-chain, and what is chosen after waits were seen, beside p-bt and cp-ideal."""
    for width in widths:
        names = "p-bt,cp-ideal,cp-chain,cluster"
        found = times(names, 40000, f"uniform:{width}", calls=calls, warmup=18)
        for own in ("cp-chain", "cluster"):
            for which in (0, 1):
                mine = found[own][which]
                ratios = mine / found["p-bt"][which], mine / found["cp-ideal"][which]
                text = f"{own} {width}: {ratios[0]:.3f} of p-bt, {ratios[1]:.3f} of cp-ideal"
                yield text, ratios[0] <= 0.75 and ratios[1] <= 1.1
    even = times("p-bt,cp-chain,cluster", 40000, "none", calls=12)
    fixed = times("cluster", 40000, "none", calls=12, given=("--set", "SOBOR_CLUSTER_BCAST=fixed"))
    even["fixed"] = fixed["cluster"]
    for own, other in ("cp-chain", "p-bt"), ("cluster", "fixed"):
        more = even[own][1] - even[other][1]
        yield f"together: {own} {more:.1f} us more than {other}", more <= LATENCY_US


def check_late():
    """One late rank of a node does not hold the others of it up, where there is memory for that."""
    late_us = 20000
    room = ("--set", "SOBOR_MEMORY=32MiB")
    found = times("cp-chain", 1 << 20, f"straggler:{late_us}us", nodes=4, each=4, given=room)
    mean = found["cp-chain"][0]
    # In one call of 16 it is the root that is late, and all wait.
    yield f"one late by {late_us} us: {mean:.0f} us", mean <= 0.11 * late_us


def check_scatters():
    """What leaders that come first save in a scatter, once waits were seen; elsewhere nothing."""
    for what in ("scatter", "scatterv"):
        found = {}
        for by in ("fixed", "auto"):
            words = ("--set", f"SOBOR_CLUSTER_SCATTER={by}")
            # Between the agreements after 4 and 16 calls.
            found[by] = times("cluster", 64, UNEVEN, calls=9, warmup=6, what=what, given=words)
        ratio = found["auto"]["cluster"][0] / found["fixed"]["cluster"][0]
        yield f"{what}: {ratio:.3f} of fixed leaders", ratio <= 0.9
    for what in ("gather", "reduce"):
        found = times("cluster,first-ideal", 64, UNEVEN, calls=4, what=what)
        ratio = found["first-ideal"][0] / found["cluster"][0]
        yield f"{what}: {ratio:.3f} of fixed leaders, at best", ratio >= 1


def check_long(sizes):
    """Beside the ring, all coming together."""
    for size in sizes:
        found = times("p-ringaas,cp-chain", size, "none", calls=1, warmup=1)
        ratio = found["cp-chain"][1] / found["p-ringaas"][1]
        yield f"{size}: {ratio:.3f} of p-ringaas", ratio <= 0.8


def check_published(forms):
    """The order of the published curves; what competition saves grows with the ranks of a node."""
    for form in forms:
        size, nodes = PUBLISHED[form]
        saved, shares = [], []
        for each in (4, 8):
            names = f"host-binomial,p-{form},cp-{form}"
            host, fixed, first = times(names, size, UNEVEN, nodes, each, calls=32).values()
            saved.append(fixed[0] - first[0])
            shares.append(first[0] / fixed[0])
            text = f"{form} {each}: {host[1]:.0f} > {fixed[1]:.0f} > {first[1]:.0f} us"
            yield text, host[1] > fixed[1] > first[1]
        text = f"{form}: saves {saved[0]:.1f}, {saved[1]:.1f} us; {shares[0]:.3f}, {shares[1]:.3f}"
        yield text, saved[1] > saved[0] > 0 and shares[1] < shares[0]


def main() -> int:
    is_long = os.environ.get("SOBOR_TEST_LONG", "") not in ("", "0")
    wrong = 0
    sizes = (1 << 20, 4 << 20) if is_long else (1 << 20,)
    forms = PUBLISHED if is_long else ("bt",)
    # Of 16 calls the ranks of two nodes are roots.
    own = check_own(48, ("200us", "500us")) if is_long else check_own(16, ("500us",))
    checked = own, check_long(sizes), check_published(forms), check_scatters(), check_late()
    for checks in checked:
        for text, right in checks:
            print(text if right else f"{text}  not as it should be")
            wrong += not right
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
