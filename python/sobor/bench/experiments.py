# SPDX-License-Identifier: BSD-3-Clause
"""The studies of `sobor bench --study`: the published experiments, and some of our own."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sobor.bench.request import COUNTS

KIB = 1024
MIB = 1024 * KIB
_RING = 4 * MIB
_SMALL = [KIB << shift for shift in range(0, 13, 2)]
_LARGE = [64 * KIB << shift for shift in range(7)]
_PARTS = [64 << shift for shift in range(0, 11, 2)]
_SUMS = [8, 64, 512, 4 * KIB, 32 * KIB]

VECTORS = ("scatterv", "gatherv", "allgatherv")
_REDUCTIONS = ("allreduce", "reduce")
_MOVING = ("scatter", "gather", "allgather", "alltoall", "alltoallv", "alltoallw")
_OTHER_REDUCTIONS = ("reduce_scatter", "reduce_scatter_block", "scan", "exscan")


@dataclass(frozen=True)
class Configuration:
    """What one run has that the others have not."""

    label: str
    algorithm: str
    settings: dict[str, str] = field(default_factory=dict)
    root: str = "rotate"
    #: The place on the axis, where it is not the size of the message.
    x: int | None = None
    #: How the parts differ; None: as the user says.
    counts: str | None = None
    #: What tells its curve from others of the same size, where the label names the place.
    curve: str = ""

    @property
    def placed(self) -> bool:
        """Whether memory is placed on its owner's node."""
        return self.settings.get("SOBOR_PLACEMENT") != "off"


@dataclass(frozen=True)
class Study:
    """One experiment: configurations, each run with all sizes."""

    name: str
    title: str
    axis: str
    sizes: list[int]
    collectives: tuple[str, ...]
    #: The configurations, of the names of the collective's algorithms.
    plan: Callable[[list[str]], list[Configuration]]
    #: What is written at the places of the axis: size, number, or the label of the configuration.
    ticks: str = "size"


def studies_of(collective: str) -> dict[str, Study]:
    """The studies that there are of a collective."""
    return {study.name: study for study in _STUDIES if collective in study.collectives}


def studied() -> list[str]:
    """The collectives that there are studies of."""
    return list(dict.fromkeys(name for study in _STUDIES for name in study.collectives))


def _pipelined(
    label: str, settings: dict[str, str] | None = None, root: str = "rotate", x: int | None = None
) -> Configuration:
    return Configuration(label, "numa-pipelined", settings or {}, root, x)


def _ring(fragment: int, slots: int, sets: int) -> dict[str, str]:
    return {
        "SOBOR_FRAGMENT": str(fragment),
        "SOBOR_BCAST_SLOTS": str(slots),
        "SOBOR_BCAST_SETS": str(sets),
        "SOBOR_MEMORY": str(16 * _RING),
    }


def _slots(_: list[str]) -> list[Configuration]:
    counts = [1 << shift for shift in range(8)]
    return [_pipelined(f"s = {s}", _ring(8 * KIB, s, 1), x=s) for s in counts]


def _fragments(_: list[str]) -> list[Configuration]:
    sizes = [k * KIB for k in (1, 2, 4, 8, 12, 16, 32, 64, 128, 256)]
    return [_pipelined(f"f = {f}", _ring(f, _RING // f, 1), x=f) for f in sizes]


def _trees(_: list[str]) -> list[Configuration]:
    shapes = [
        ("flat", "flat", 2),
        ("chain", "chain", 2),
        ("binary", "kary", 2),
        ("4-ary", "kary", 4),
        ("binomial", "knomial", 2),
        ("4-nomial", "knomial", 4),
    ]
    return [
        _pipelined(label, {"SOBOR_BCAST_TREE": tree, "SOBOR_TREE_ARITY": str(arity)})
        for label, tree, arity in shapes
    ]


def _placements(_: list[str]) -> list[Configuration]:
    words = {"placed on each rank's node": "on", "all on the first node": "off"}
    return [_pipelined(label, {"SOBOR_PLACEMENT": word}) for label, word in words.items()]


def _roots(_: list[str]) -> list[Configuration]:
    return [_pipelined("root 0", root="0"), _pipelined("rotating root", root="rotate")]


def _algorithms(names: list[str]) -> list[Configuration]:
    return [Configuration(name, name) for name in names]


def _queue(slots: int, fragment: int, sets: int) -> dict[str, str]:
    return {
        "SOBOR_QUEUE_SLOTS": str(slots),
        "SOBOR_QUEUE_FRAGMENT": str(fragment),
        "SOBOR_QUEUE_SETS": str(sets),
        "SOBOR_MEMORY": str(64 * MIB),
    }


def _others(names: list[str]) -> list[Configuration]:
    """What the queues are compared with, whatever their form."""
    return [Configuration(name, name) for name in names if name != "queued"]


def _queue_slots(names: list[str]) -> list[Configuration]:
    counts = [2 << shift for shift in range(6)]
    varied = [Configuration(f"s = {s}", "queued", _queue(s, 8 * KIB, 2), x=s) for s in counts]
    return varied + _others(names)


def _queue_fragments(names: list[str]) -> list[Configuration]:
    sizes = [KIB << shift for shift in range(6)]
    varied = [Configuration(f"f = {f}", "queued", _queue(64 * KIB // f, f, 2), x=f) for f in sizes]
    return varied + _others(names)


def _queue_sets(names: list[str]) -> list[Configuration]:
    varied = [Configuration(f"w = {w}", "queued", _queue(8, 8 * KIB, w), x=w) for w in (1, 2, 4, 8)]
    return varied + _others(names)


def _patterns(names: list[str]) -> list[Configuration]:
    return [
        Configuration(pattern, name, x=place, counts=pattern, curve=name)
        for place, pattern in enumerate(COUNTS)
        for name in names
    ]


def _windows(_: list[str]) -> list[Configuration]:
    room = {"SOBOR_RING": str(16 * MIB), "SOBOR_MEMORY": str(64 * MIB)}
    sizes = [4 * KIB << shift for shift in range(7)]
    varied = [
        Configuration(
            f"f = {f}", "reduce-scatter-allgather", {"SOBOR_FRAGMENT": str(f), **room}, x=f
        )
        for f in sizes
    ]
    return [*varied, Configuration("chosen by itself", "reduce-scatter-allgather")]


def _orders(_: list[str]) -> list[Configuration]:
    words = {"auto": "auto", "strict": "strict"}
    return [
        Configuration(label, "auto", {"SOBOR_REPRODUCIBLE": word}) for label, word in words.items()
    ]


_BCAST = ("bcast",)
_MESSAGE = "message, bytes"
_PART = "part, bytes"
_STUDIES = [
    Study("slots", "Number of buffers, 8 KiB each", "s, buffers", _LARGE[:5], _BCAST, _slots,
          "number"),
    Study("fragment", "Size of a buffer, 4 MiB in all", "f, bytes", [MIB, 4 * MIB], _BCAST,
          _fragments),
    Study("tree", "Tree of notifications", _MESSAGE, _SMALL, _BCAST, _trees),
    Study("placement", "Placement of buffers", _MESSAGE, _LARGE, _BCAST, _placements),
    Study("root-shift", "Fixed and rotating root", _MESSAGE, _SMALL, _BCAST, _roots),
    Study("algorithms", "Algorithms", _MESSAGE, _SMALL, _BCAST, _algorithms),
    Study("algorithms", "Algorithms", _PART, _PARTS, VECTORS + _MOVING, _algorithms),
    Study("slots", "Number of slots, 8 KiB each, in two sets", "s, slots", [16 * KIB, 64 * KIB],
          VECTORS, _queue_slots, "number"),
    Study("fragment", "Size of a slot, 64 KiB in all", "f, bytes", [16 * KIB, 64 * KIB], VECTORS,
          _queue_fragments),
    Study("sets", "Number of sets of 8 slots", "w, sets", [16 * KIB, 64 * KIB], VECTORS,
          _queue_sets, "number"),
    Study("counts", "Patterns of counts", "how parts differ", [KIB, 64 * KIB], VECTORS, _patterns,
          "label"),
    Study("algorithms", "Algorithms", _MESSAGE, _SUMS, _REDUCTIONS + _OTHER_REDUCTIONS,
          _algorithms),
    Study("window", "Window of slices", "f, bytes", [64 * KIB, 256 * KIB, MIB], _REDUCTIONS,
          _windows),
    Study("order", "What strict reproducibility costs", _MESSAGE,
          [*_SUMS, 256 * KIB, MIB], _REDUCTIONS, _orders),
]  # fmt: skip
