# SPDX-License-Identifier: BSD-3-Clause
"""Times of allgathers over a star, where transfers take turns, and over a crossbar.

T(L) = t_s + L t_w is the time of a transfer of L elements. On a star the times of all transfers add
up; on a crossbar those of a stage count once, the longest. The exchange of each with each is
(p - 1)^2 transfers in sequence on both.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from sobor.native import find_native

SWITCHES = ("star", "crossbar")
#: Elements up to which a crossing is looked for.
_MOST = 1e9

#: Of each stage, the blocks of each transfer.
Stages = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Link:
    """t_s and t_w, in microseconds."""

    latency: float
    element: float

    def transfer(self, elements: float) -> float:
        """The time of one transfer."""
        return self.latency + elements * self.element


@dataclass(frozen=True)
class Plan:
    """What a method does with p ranks."""

    stages: int
    #: Of pairs, in all; where blocks go one way, messages.
    exchanges: int
    #: By switch: transfers that take turns, and blocks in them.
    transfers: dict[str, int]
    blocks: dict[str, int]
    #: Of each stage, where they are of several transfers: the longest, and all its blocks.
    each: tuple[tuple[int, int], ...] = ()

    def time(self, switch: str, link: Link, elements: float) -> float:
        """Microseconds, with so many elements of each rank."""
        return self.transfers[switch] * link.latency + self.blocks[switch] * elements * link.element


def _plan(stages: Stages, exchanges: int) -> Plan:
    return Plan(
        stages=len(stages),
        exchanges=exchanges,
        transfers={"star": sum(map(len, stages)), "crossbar": len(stages)},
        blocks={"star": sum(map(sum, stages)), "crossbar": sum(map(max, stages))},
        each=tuple((max(stage), sum(stage)) for stage in stages),
    )


def _each_with_each(ranks: int) -> Plan:
    turns = (ranks - 1) ** 2
    alike = dict.fromkeys(SWITCHES, turns)
    return Plan(turns, ranks * (ranks - 1) // 2, alike, alike)


def _bagds(ranks: int) -> Plan:
    stages = find_native().query("exchanges", "--ranks", str(ranks))
    both = tuple(
        tuple(blocks for _, _, *ways in pairs for blocks in ways if blocks > 0) for pairs in stages
    )
    return _plan(both, sum(map(len, stages)))


def _ring(ranks: int) -> Plan:
    return _plan(((1,) * ranks,) * (ranks - 1), ranks * (ranks - 1))


def _bruck(ranks: int) -> Plan:
    steps = (1 << k for k in range((ranks - 1).bit_length()))
    stages = tuple((min(step, ranks - step),) * ranks for step in steps)
    return _plan(stages, ranks * len(stages))


def _recursive_doubling(ranks: int) -> Plan:
    """Beyond the largest power of two P each gives its block to the one P below, and gets all."""
    rounds = ranks.bit_length() - 1
    power, beyond = 1 << rounds, ranks - (1 << rounds)
    stages = [_round(1 << k, power, beyond) for k in range(rounds)]
    exchanges = rounds * power // 2 + 2 * beyond
    if beyond:
        stages = [(1,) * beyond, *stages, (ranks - 1,) * beyond]
    return _plan(tuple(stages), exchanges)


def _round(step: int, power: int, beyond: int) -> tuple[int, ...]:
    """What each of P ranks sends: the blocks of its group, and of those beyond it."""
    firsts = (rank & ~(step - 1) for rank in range(power))
    return tuple(step + max(0, min(step, beyond - first)) for first in firsts)


METHODS: dict[str, Callable[[int], Plan]] = {
    "each-with-each": _each_with_each,
    "bagds": _bagds,
    "ring": _ring,
    "bruck": _bruck,
    "recursive-doubling": _recursive_doubling,
}


@cache
def plan(method: str, ranks: int) -> Plan:
    """What the method does."""
    return METHODS[method](ranks)


def rows(link: Link, ranks: list[int], elements: list[int], switches: list[str]) -> list[dict]:
    """A row for each method and point."""
    return [
        {
            "method": method,
            "switch": switch,
            "ranks": count,
            "elements": each,
            "stages": plan(method, count).stages,
            "exchanges": plan(method, count).exchanges,
            "time_us": plan(method, count).time(switch, link, each),
        }
        for switch in switches
        for count in ranks
        for each in elements
        for method in METHODS
    ]


def crossing(link: Link, ranks: int, switch: str, other: str = "each-with-each") -> float | None:
    """Elements of each rank below which BAGDS is faster; None: it is for any; 0: for none."""
    ours, theirs = plan("bagds", ranks), plan(other, ranks)
    saved = (theirs.transfers[switch] - ours.transfers[switch]) * link.latency
    more = (ours.blocks[switch] - theirs.blocks[switch]) * link.element
    if more <= 0:
        return None if saved >= 0 and (saved > 0 or more < 0) else 0.0
    return min(max(0.0, saved / more), _MOST)


def fastest(link: Link, ranks: int, elements: float, switch: str) -> str:
    """The method that takes least."""
    return min(METHODS, key=lambda method: plan(method, ranks).time(switch, link, elements))
