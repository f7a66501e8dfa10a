# SPDX-License-Identifier: BSD-3-Clause
"""The published experiments with the pipelined broadcast, as settings of numa-pipelined."""

from dataclasses import dataclass, field

KIB = 1024
MIB = 1024 * KIB
_RING = 4 * MIB
_SMALL = [KIB << shift for shift in range(0, 13, 2)]
_LARGE = [64 * KIB << shift for shift in range(7)]


@dataclass(frozen=True)
class Configuration:
    """What one run has that the others have not."""

    label: str
    settings: dict[str, str] = field(default_factory=dict)
    root: str = "rotate"
    #: The place on the axis, where it is not the size of the message.
    x: int | None = None

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
    configurations: list[Configuration]

    @property
    def by_size(self) -> bool:
        """The axis is the size and each configuration a curve; otherwise each size is a curve."""
        return all(each.x is None for each in self.configurations)


def _ring(fragment: int, slots: int, sets: int) -> dict[str, str]:
    return {
        "SOBOR_FRAGMENT": str(fragment),
        "SOBOR_BCAST_SLOTS": str(slots),
        "SOBOR_BCAST_SETS": str(sets),
        "SOBOR_MEMORY": str(16 * _RING),
    }


def _slots() -> list[Configuration]:
    counts = [1 << shift for shift in range(8)]
    return [Configuration(f"s = {s}", _ring(8 * KIB, s, 1), x=s) for s in counts]


def _fragments() -> list[Configuration]:
    sizes = [k * KIB for k in (1, 2, 4, 8, 12, 16, 32, 64, 128, 256)]
    return [Configuration(f"f = {f}", _ring(f, _RING // f, 1), x=f) for f in sizes]


def _trees() -> list[Configuration]:
    shapes = [
        ("flat", "flat", 2),
        ("chain", "chain", 2),
        ("binary", "kary", 2),
        ("4-ary", "kary", 4),
        ("binomial", "knomial", 2),
        ("4-nomial", "knomial", 4),
    ]
    return [
        Configuration(label, {"SOBOR_BCAST_TREE": tree, "SOBOR_TREE_ARITY": str(arity)})
        for label, tree, arity in shapes
    ]


def _placements() -> list[Configuration]:
    words = {"placed on each rank's node": "on", "all on the first node": "off"}
    return [Configuration(label, {"SOBOR_PLACEMENT": word}) for label, word in words.items()]


def _roots() -> list[Configuration]:
    return [Configuration("root 0", root="0"), Configuration("rotating root", root="rotate")]


STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        Study("slots", "Number of buffers, 8 KiB each", "s, buffers", _LARGE[:5], _slots()),
        Study(
            "fragment", "Size of a buffer, 4 MiB in all", "f, bytes", [MIB, 4 * MIB], _fragments()
        ),
        Study("tree", "Tree of notifications", "message, bytes", _SMALL, _trees()),
        Study("placement", "Placement of buffers", "message, bytes", _LARGE, _placements()),
        Study("root-shift", "Fixed and rotating root", "message, bytes", _SMALL, _roots()),
    )
}
