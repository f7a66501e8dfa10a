# SPDX-License-Identifier: BSD-3-Clause
"""The hierarchical barrier and what it is compared with (Kurnosov 2022)."""

from statistics import fmean, stdev

from sobor.errors import SoborError
from sobor.study.figure import MAPS, Figure, Point, Run, Setting, number
from sobor.study.place import Case, common, take

MACHINE = "kunpeng920-2s"
SHARED = (
    "central", "flat-counter", "flat-gather-release", "combining-tree", "mcs", "tournament",
    "dissemination",
)  # fmt: skip
HIERARCHICAL = ("hierarchical-numa+package", "hierarchical-numa", "hierarchical-package")
MESSAGES = ("p2p-linear", "p2p-double-ring", "p2p-recursive-doubling", "p2p-bruck", "p2p-tree")
VARIATION = "variation, %"


def case(algorithm: str, ranks: int, mapping: str, calls: int) -> Case:
    """An unbroken row of barriers."""
    return Case(
        "barrier", algorithm, ranks, mapping=mapping, sync="chain", calls=calls, warmup=4,
        cold=False,
    )  # fmt: skip


def time(run: Run, algorithm: str, mapping: str) -> float:
    """Microseconds of one barrier of a row."""
    found = take(run, case(algorithm, run["ranks"], mapping, run["calls"]))
    return next(iter(found.values()))


def _settings(ranks: int, maps: str, algorithms: tuple[str, ...]) -> tuple[Setting, ...]:
    return (
        *common(MACHINE),
        Setting("ranks", str(ranks), "processes, one bound to each core", number(2)),
        Setting("map", maps, "how they are dealt: core, numa, socket", MAPS),
        Setting("algorithms", ",".join(algorithms), "as SOBOR_BARRIER_ALGORITHM", _names),
        Setting("calls", "20", "barriers in a row", number()),
    )


def _names(value: str, name: str) -> list[str]:
    found = value.split(",")
    if "" in found:
        raise SoborError(f'{name}: expected names of algorithms, found "{value}"')
    return found


def _times(run: Run) -> list[Point]:
    """One point for each algorithm and mapping."""
    return [
        Point(algorithm, mapping, time(run, algorithm, mapping))
        for algorithm in run["algorithms"]
        for mapping in run["map"]
    ]


def _table(run: Run) -> list[Point]:
    """The times, and by how much they vary over the mappings."""
    points = _times(run)
    for algorithm in run["algorithms"] if len(run["map"]) > 1 else ():
        chosen = [point.ours for point in points if point.series == algorithm]
        points.append(Point(algorithm, VARIATION, 100 * stdev(chosen) / fmean(chosen)))
    return points


def _against_messages(run: Run) -> list[Point]:
    """How many times the best barrier's time the best one made of messages takes."""
    points = _times(run)
    both = len({name in MESSAGES for name in run["algorithms"]}) > 1
    for mapping in run["map"] if both else ():
        best = {
            messages: min(
                point.ours
                for point in points
                if point.x == mapping and (point.series in MESSAGES) == messages
            )
            for messages in (False, True)
        }
        points.append(Point("best of messages / best", mapping, best[True] / best[False]))
    return points


_SHORT = {"runs": "1", "calls": "4", "ranks": "16"}
FIGURES = (
    Figure(
        "4",
        "Barriers of 64 processes on one processor",
        "mapping",
        "µs",
        _settings(64, "core", MESSAGES + SHARED),
        _times,
        short=_SHORT,
    ),
    Figure(
        "5",
        "Barriers of 128 processes, those made of messages beside the others",
        "mapping",
        "µs",
        _settings(128, "core,numa,socket", MESSAGES + SHARED + HIERARCHICAL),
        _against_messages,
        short=_SHORT,
        beside=("best of messages / best",),
    ),
    Figure(
        "6",
        "Barriers of 128 processes dealt by core",
        "mapping",
        "µs",
        _settings(128, "core", SHARED + HIERARCHICAL),
        _times,
        short=_SHORT,
    ),
    Figure(
        "table",
        "Barriers of 128 processes under three mappings, and how they vary",
        "mapping",
        "µs",
        _settings(128, "core,numa,socket", SHARED + HIERARCHICAL),
        _table,
        short=_SHORT,
        beside=(VARIATION,),
    ),
)
