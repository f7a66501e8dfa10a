# SPDX-License-Identifier: BSD-3-Clause
"""Scatterv, Gatherv and Allgatherv through shared queues (Romanyuta, Kurnosov 2022)."""

import sys
from statistics import fmean

from sobor.bench.request import COUNTS, counts_name
from sobor.study.figure import Figure, Point, Run, Setting, number, size, sizes, word
from sobor.study.place import Case, Times, common, take

MACHINE = "xeon-e5-2620v4-2s"
OURS = "queued"
BASE = "coll/tuned"
COLLECTIVES = ("scatterv", "gatherv", "allgatherv")
# What coll/tuned of Open MPI 4.1 takes for an allgatherv of fewer ranks than the first number: with
# parts shorter than the second p2p-gather-bcast, than the third p2p-bruck, and else p2p-ring. With
# fewer than 8 ranks or 128 and more it has a neighbour exchange besides, which is not here.
TUNED = (
    (8, 0, 0), (16, 1 << 10, sys.maxsize), (32, 128, 256 << 10), (64, 256, 8 << 10),
    (128, 256, 4 << 10),
)  # fmt: skip
SAVES = "queued saves, %"
AHEAD = "points at which queued is ahead, %"


def tuned(collective: str, ranks: int, part: int) -> str:
    """What coll/tuned takes for parts of so many bytes, made of messages."""
    if collective != "allgatherv":
        return "p2p-linear"  # it leaves these to coll/basic
    for below, gathered, doubled in TUNED:
        if ranks < below:
            return (
                "p2p-gather-bcast" if part < gathered
                else "p2p-bruck" if part < doubled else "p2p-ring"
            )  # fmt: skip
    return "p2p-ring"


def _base(run: Run) -> Times:
    """Times of what Open MPI does."""
    if run.here:
        return _time(run, "host")
    names = {m: tuned(run["collective"], run["ranks"], m) for m in run["bytes"]}
    found = {name: _time(run, name) for name in set(names.values())}
    return {m: found[name][m] for m, name in names.items()}


def _time(run: Run, algorithm: str) -> Times:
    settings = {
        "SOBOR_QUEUE_SLOTS": str(run["s"]),
        "SOBOR_QUEUE_FRAGMENT": str(run["f"]),
        "SOBOR_QUEUE_SETS": str(run["w"]),
        "SOBOR_MEMORY": str(64 << 20),
    }
    case = Case(
        run["collective"], algorithm, run["ranks"], tuple(run["bytes"]), settings, run["root"],
        run["map"], counts=run["counts"], calls=4, warmup=2,
    )  # fmt: skip
    return take(run, case)


def _against_base(run: Run) -> list[Point]:
    """Times over the size of a part, and what the queues save against the base."""
    base = "host" if run.here else BASE
    times = {OURS: _time(run, OURS), base: _base(run), "direct": _time(run, "direct")}
    points = [Point(name, m, us) for name, found in times.items() for m, us in found.items()]
    saved = [100 * (1 - times[OURS][m] / times[base][m]) for m in run["bytes"]]
    points.append(Point(SAVES, "at most", max(saved)))
    points.append(Point(SAVES, "on average", fmean(saved)))
    points.append(Point(AHEAD, "all", 100 * fmean(each > 0 for each in saved)))
    return points


def _figure(name: str, collective: str, ranks: int, most: str) -> Figure:
    parts = "64,256,1K,4K,16K,64K" + (",256K" if most == "256K" else "")
    root = "rotate" if collective != "allgatherv" else "0"
    settings = (
        *common(MACHINE),
        Setting("collective", collective, "the operation", word(*COLLECTIVES)),
        Setting("ranks", str(ranks), "processes, one bound to each core", number(2)),
        Setting("map", "core", "how they are dealt", word("core", "numa", "socket")),
        Setting("root", root, "a rank, or rotate", lambda value, _name: value),
        Setting("s", "8", "slots of a queue", number()),
        Setting("f", "8K", "bytes of a slot", size),
        Setting("w", "2", "sets of slots", number()),
        Setting("bytes", parts, "of a part", sizes),
        Setting("counts", "equal", "how parts differ, as sobor bench --counts", _counts),
    )
    title = f"{collective.capitalize()}, {ranks} processes"
    short = {"runs": "1", "bytes": "1K", "ranks": "4"}
    return Figure(
        name, title, "part, bytes", "µs", settings, _against_base, "ratio", short,
        (SAVES, AHEAD), (2, 10),
    )  # fmt: skip


def _counts(value: str, name: str) -> str:
    return word(*COUNTS)(counts_name(value), name)


FIGURES = (
    _figure("2", "scatterv", 16, "64K"),
    _figure("3", "gatherv", 16, "64K"),
    _figure("4", "allgatherv", 16, "256K"),
    _figure("5", "allgatherv", 8, "256K"),
    _figure("6", "gatherv", 8, "64K"),
)
