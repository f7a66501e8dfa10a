# SPDX-License-Identifier: BSD-3-Clause
"""What a figure of a paper is: its settings, how its points are taken, and what is drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sobor.errors import SoborError
from sobor.native import Native
from sobor.sizes import parse_counts, parse_sizes

HERE = "here"


@dataclass(frozen=True)
class Setting:
    """One thing that may be changed: its published value is the default."""

    name: str
    default: str
    doc: str
    #: Reads the text; the second argument names the setting in errors.
    parse: Callable[[str, str], Any]


@dataclass(frozen=True)
class Point:
    """One value of ours."""

    series: str
    x: str | float
    ours: float


@dataclass(frozen=True)
class Run:
    """What a figure is run with."""

    native: Native
    values: Mapping[str, Any]
    #: Told before each part of the work.
    tell: Callable[[str], None]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def here(self) -> bool:
        """Whether times are taken on this machine and not in the simulator."""
        return self.values.get("machine") == HERE


@dataclass(frozen=True)
class Figure:
    """One figure or table of a paper."""

    name: str
    title: str
    axis: str
    unit: str
    settings: Sequence[Setting]
    #: Takes the points.
    run: Callable[[Run], list[Point]]
    #: What is compared with the published values: "order" (rank correlation) or "ratio".
    compare: str = "order"
    #: What is changed for a run of a second or two.
    short: Mapping[str, str] = field(default_factory=dict)
    #: Series that are not drawn: of another unit than the rest.
    beside: tuple[str, ...] = ()
    #: Whether series are parts of a whole: drawn on top of each other.
    stacked: bool = False
    #: Bases of the axes' logarithms; 0: not logarithmic.
    log: tuple[int, int] = (0, 10)
    #: The colour of a value in the table, of Rich.
    paint: Callable[[float], str] | None = None


def word(*known: str) -> Callable[[str, str], str]:
    """Reads one of the words."""

    def parse(text: str, name: str) -> str:
        if text not in known:
            raise SoborError(f"{name}: expected {', '.join(known)}, found {text or 'nothing'}")
        return text

    return parse


def words(*known: str) -> Callable[[str, str], list[str]]:
    """Reads several of the words."""
    one = word(*known)
    return lambda text, name: [one(each.strip(), name) for each in text.split(",")]


def number(least: int = 1) -> Callable[[str, str], int]:
    """Reads a whole number."""

    def parse(text: str, name: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise SoborError(f"{name}: expected a number of at least {least}, found {text}")
        return int(text)

    return parse


def numbers(text: str, name: str) -> list[int]:
    """Reads numbers of ranks, slots and the like."""
    return parse_counts(text, name)


def sizes(text: str, name: str) -> list[int]:
    """Reads bytes."""
    return parse_sizes(text, name)


def size(text: str, name: str) -> int:
    """Reads bytes of one thing."""
    found = parse_sizes(text, name)
    if len(found) != 1:
        raise SoborError(f"{name}: expected one size, found {text}")
    return found[0]


def text(value: str, _name: str) -> str:
    """Takes the text as it is."""
    return value


MAPS = words("core", "numa", "socket")
