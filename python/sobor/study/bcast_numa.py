# SPDX-License-Identifier: BSD-3-Clause
"""The pipelined broadcast placed on NUMA nodes (Kurnosov, Tokmasheva 2020)."""

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean

from sobor.errors import SoborError
from sobor.model.views import ring_colour
from sobor.sizes import short_size
from sobor.study.figure import (
    Figure,
    Point,
    Run,
    Setting,
    number,
    numbers,
    size,
    sizes,
    word,
    words,
)
from sobor.study.place import Case, Times, common, take

MACHINE = "xeon-e5-2620v4-2s"
KIB = 1024
MIB = 1024 * KIB
TREES = {
    "flat": ("flat", 2), "chain": ("chain", 2), "binary": ("kary", 2), "4-ary": ("kary", 4),
    "binomial": ("knomial", 2), "4-nomial": ("knomial", 4),
}  # fmt: skip
OURS = "a region of each"
SEGMENTS = {
    "one segment, no readahead": "one",
    "one segment, readahead": "one-read-ahead",
}
SAVES = "numa-pipelined saves, %"
_LONG = "16K,32K,64K"
_TREE = Setting("tree", "chain", "of notifications: " + ", ".join(TREES), word(*TREES))
_SETS = Setting("q", "1", "sets of buffers", number())
_ROOT = Setting("root", "0", "a rank, or rotate", lambda value, _name: value)
_MAP = Setting("map", "core", "how processes are dealt", word("core", "numa", "socket"))


def _ranks(count: int) -> Setting:
    return Setting("ranks", str(count), "p: processes, one bound to each core", number(2))


def _messages(text: str) -> Setting:
    return Setting("bytes", text, "m: messages", sizes)


def _fixed(fragment: str = "8K", slots: int = 64) -> tuple[Setting, ...]:
    return (
        Setting("f", fragment, "bytes of one buffer", size),
        Setting("s", str(slots), "buffers of one process", number()),
    )


def _buffers(fragment: int, slots: int, sets: int, tree: str) -> Mapping[str, str]:
    """The variables that make the algorithm's memory so."""
    shape, arity = TREES[tree]
    return {
        "SOBOR_FRAGMENT": str(fragment),
        "SOBOR_BCAST_SLOTS": str(slots),
        "SOBOR_BCAST_SETS": str(sets),
        "SOBOR_BCAST_TREE": shape,
        "SOBOR_TREE_ARITY": str(arity),
        "SOBOR_MEMORY": str(max(64 * MIB, 2 * slots * (fragment + 128))),
    }


def _time(run: Run, messages: list[int], settings: Mapping[str, str], **more) -> Times:
    """Microseconds of a broadcast with buffers that no cache holds, by size."""
    case = Case(
        "bcast", "numa-pipelined", run["ranks"], tuple(messages), settings, run["root"], run["map"],
        calls=6, warmup=2,
    )  # fmt: skip
    return take(run, replace(case, **more))


def _by_fragment(run: Run) -> list[Point]:
    """T over f for each message, and the f that is best."""
    points = []
    for fragment in run["f"]:
        slots = max(run["b"] // fragment, run["q"])
        times = _time(run, run["bytes"], _buffers(fragment, slots, run["q"], run["tree"]))
        points += [Point(f"m = {short_size(m)}", fragment, us) for m, us in times.items()]
    for message in run["bytes"]:
        curve = [point for point in points if point.series == f"m = {short_size(message)}"]
        best = min(curve, key=lambda point: point.ours)
        points.append(Point("best f, KiB", short_size(message), float(best.x) / KIB))
    return points


def _by_slots(run: Run) -> list[Point]:
    """T over s for each message, and what is saved over the least s."""
    points = []
    first: Times = {}
    for slots in run["s"]:
        buffers = _buffers(run["f"], slots, min(run["q"], slots), run["tree"])
        times = _time(run, run["bytes"], buffers)
        first = first or times
        for message, us in times.items():
            points.append(Point(f"m = {short_size(message)}", slots, us))
            saved = 100 * (1 - us / first[message])
            points.append(Point(f"saved at {short_size(message)}, %", slots, saved))
    return sorted(points, key=lambda point: point.series)


def _by_tree(run: Run) -> list[Point]:
    """T over m for each tree, and its place among them by the mean of the ratios to the best."""
    times = {
        tree: _time(run, run["bytes"], _buffers(run["f"], run["s"], run["q"], tree))
        for tree in run["trees"]
    }
    points = [Point(tree, m, us) for tree, found in times.items() for m, us in found.items()]
    best = {m: min(found[m] for found in times.values()) for m in run["bytes"]}
    means = {
        tree: sum(math.log(found[m] / best[m]) for m in run["bytes"])
        for tree, found in times.items()
    }
    for place, tree in enumerate(sorted(means, key=means.__getitem__), 1):
        points.append(Point("place of the tree", tree, place))
    return points


def _by_placement(run: Run) -> list[Point]:
    """T over m with all buffers on their owners' nodes, on the first, and in one segment."""
    buffers = _buffers(run["f"], run["s"], run["q"], run["tree"])
    times = {
        OURS: _time(run, run["bytes"], buffers),
        "all on the first node": _time(
            run, run["bytes"], {**buffers, "SOBOR_PLACEMENT": "off"}, placed=False
        ),
    }
    for name, segment in () if run.here else SEGMENTS.items():
        times[name] = _time(run, run["bytes"], buffers, segment=segment)
    return [Point(name, m, us) for name, found in times.items() for m, us in found.items()]


def _against(run: Run) -> list[Point]:
    """T over m beside that of another library's broadcast, and what is saved."""
    other = run["other"]
    ours = _time(run, run["bytes"], _buffers(run["f"], run["s"], run["q"], run["tree"]))
    memory = {"SOBOR_MEMORY": str(64 * MIB)}
    theirs = _time(run, run["bytes"], memory, algorithm=other)
    points = [
        Point(name, m, us)
        for name, found in (("numa-pipelined", ours), (other, theirs))
        for m, us in found.items()
    ]
    saved = [100 * (1 - ours[m] / theirs[m]) for m in run["bytes"]]
    points.append(Point(SAVES, "at least", min(saved)))
    points.append(Point(SAVES, "on average", fmean(saved)))
    points.append(Point(SAVES, "at most", max(saved)))
    return points


def _rounds(message: int, part: float) -> int:
    return math.ceil(message / part)


def _prices(run: Run) -> tuple[int, int, int, int]:
    return run["t"], run["tw"], run["two"], run["ta"]


def _parts(run: Run, fragment: int, ring: float) -> tuple[float, float]:
    """What copies and openings take, and notifications; microseconds."""
    t, notify, opening, release = _prices(run)
    message = run["m"]
    copies = _rounds(message, ring) * (opening + release + fragment * t) + message * t
    return copies / 1e3, _rounds(message, fragment) * notify / 1e3


def _component_curves(run: Run) -> list[Point]:
    """T(f) of the model, and the two parts that it is the sum of."""
    points = []
    for fragment in run["f"]:
        copies, notices = _parts(run, fragment, run["b"])
        points.append(Point("T(f)", fragment, copies + notices))
        points.append(Point("openings and copies", fragment, copies))
        points.append(Point("notifications", fragment, notices))
    turns = _rounds(run["m"], run["b"])
    best = math.sqrt(run["m"] / turns * run["tw"] / run["t"])
    points.append(Point("best", "f*, bytes", best))
    points.append(Point("best", "s*", run["b"] / best))
    return sorted(points, key=lambda point: point.series)


def _saw_tooth(run: Run) -> list[Point]:
    """T(f) of the model for fixed numbers of buffers."""
    step = run["step"]
    if run["most"] < step:
        raise SoborError(
            f"most: expected at least a step, {short_size(step)}, found {short_size(run['most'])}"
        )
    return [
        Point(f"s = {slots}", fragment, sum(_parts(run, fragment, fragment * slots)))
        for slots in run["s"]
        for fragment in range(step, run["most"] + 1, step)
    ]


def _ring_sizes(run: Run) -> list[Point]:
    """KiB of the segment of all processes: w + w q + p s (w + f), in whole pages."""
    page = run["w"]
    points = []
    for ranks in run["p"]:
        for slots in run["s"]:
            for fragment in run["f"]:
                whole = math.ceil(fragment / page) * page
                total = page + page * run["q"] + ranks * slots * (page + whole)
                points.append(Point(f"p = {ranks}, s = {slots}", fragment, total / KIB))
    return points


_MODEL = (
    Setting("t", "1", "nanoseconds to read or write a byte", number()),
    Setting("tw", "50", "t_W: nanoseconds until a notification is seen", number()),
    Setting("two", "100", "t_WO: nanoseconds until a set is seen open", number()),
    Setting("ta", "10", "t_A: nanoseconds of an atomic subtraction", number()),
    Setting("m", "16M", "bytes of the message", size),
)
_FRAGMENTS = Setting("f", "1K,2K,4K,8K,12K,16K,32K,64K", "bytes of one buffer", sizes)
_RING = Setting("b", "4M", "bytes of all buffers of a process", size)
_SLOTS = Setting("s", "1,2,4,8,16,32,64,128", "buffers of one process", numbers)
_ROTATING = Setting("root", "rotate", "a rank, or rotate", lambda value, _name: value)
_MANY = "1K,4K,16K,64K,256K,1M"
_SHORT = {"runs": "1", "bytes": "16K"}
_BEST = ("best f, KiB",)
_FLAT = Setting("tree", "flat", "of notifications: " + ", ".join(TREES), word(*TREES))
_BINARY = Setting("tree", "binary", "of notifications: " + ", ".join(TREES), word(*TREES))


def _compared(name: str, other: str, title: str) -> Figure:
    return Figure(
        name, f"Beside {title}", "message, bytes", "µs",
        (*common(MACHINE), _ranks(16), _MAP, _BINARY, _ROTATING, _SETS, *_fixed(),
         _messages(_MANY),
         Setting("other", other, "what it is compared with", word("mvapich", "coll-sm"))),
        _against, compare="ratio", short=_SHORT, beside=(SAVES,), log=(2, 10),
    )  # fmt: skip


FIGURES = (
    Figure("4", "The model's T(f) and the two parts it is made of", "f, bytes", "µs",
           (*_MODEL, _RING,
            Setting("f", "1K,2K,4K,8K,12K,14482,16K,32K,64K,128K", "bytes of one buffer", sizes)),
           _component_curves, compare="ratio", beside=("best",), log=(2, 10)),
    Figure("5", "Sizes of a buffer, short messages", "f, bytes", "µs",
           (*common(MACHINE), _ranks(16), _MAP, _TREE, _ROOT, _SETS, _RING, _messages(_LONG),
            _FRAGMENTS),
           _by_fragment, compare="ratio", short={**_SHORT, "f": "4K,8K"}, beside=_BEST,
           log=(2, 10)),
    Figure("6", "Sizes of a buffer, long messages", "f, bytes", "µs",
           (*common(MACHINE), _ranks(16), _MAP, _TREE, _ROOT, _SETS, _RING, _messages("256K,1M,4M"),
            _FRAGMENTS),
           _by_fragment, compare="ratio", short={**_SHORT, "f": "4K,8K"}, beside=_BEST,
           log=(2, 10)),
    Figure("7", "Number of buffers, 8 processes on one node", "s", "µs",
           (*common(MACHINE), _ranks(8), _MAP, _FLAT, _ROOT, _SETS, _messages("16K,32K,64K"),
            Setting("f", "8K", "bytes of one buffer", size), _SLOTS),
           _by_slots, compare="ratio", short={**_SHORT, "s": "1,2"},
           beside=tuple(f"saved at {m}, %" for m in ("16K", "32K", "64K")), log=(2, 10)),
    Figure("8", "Number of buffers, 16 processes", "s", "µs",
           (*common(MACHINE), _ranks(16), _MAP, _FLAT, _ROOT, _SETS, _messages("64K,256K,1M"),
            Setting("f", "8K", "bytes of one buffer", size), _SLOTS),
           _by_slots, compare="ratio", short={**_SHORT, "s": "1,2"},
           beside=tuple(f"saved at {m}, %" for m in ("64K", "256K", "1M")), log=(2, 10)),
    Figure("9", "The model's T(f) for fixed numbers of buffers: a saw-tooth", "f, bytes", "µs",
           (*_MODEL, Setting("s", "64,128,290", "buffers of one process", numbers),
            Setting("step", "2K", "between two f", size),
            Setting("most", "128K", "largest f", size)),
           _saw_tooth, compare="ratio", short={"step": "16K"}, log=(0, 10)),
    Figure("10", "Trees of notifications", "message, bytes", "µs",
           (*common(MACHINE), _ranks(16), _MAP, _ROOT, _SETS, *_fixed(), _messages(_MANY),
            Setting("trees", ",".join(TREES), "trees of notifications", words(*TREES))),
           _by_tree, compare="ratio", short=_SHORT, beside=("place of the tree",), log=(2, 10)),
    Figure("11", "Placement of the buffers", "message, bytes", "µs",
           (*common(MACHINE), _ranks(16), _MAP, _BINARY, _ROTATING, _SETS, *_fixed(),
            _messages("16K,64K,256K,1M,4M")),
           _by_placement, compare="ratio", short=_SHORT, log=(2, 10)),
    _compared("12", "mvapich", "MVAPICH's broadcast in shared memory: flat, 128 slots"),
    _compared("13", "coll-sm", "Open MPI's coll/sm"),
    Figure("table 1", "Sizes of the shared segment: green to 10 MB, yellow to 100 MB", "f, bytes",
           "KiB",
           (Setting("p", "8,64", "processes", numbers),
            Setting("s", "8,64,128,1024", "buffers of one process", numbers),
            Setting("f", "4K,8K,16K,64K", "bytes of one buffer", sizes),
            Setting("q", "2", "sets of buffers", number()),
            Setting("w", "4K", "bytes of a page", size)),
           _ring_sizes, compare="ratio", paint=lambda kib: ring_colour(kib * KIB), log=(2, 10)),
)  # fmt: skip
