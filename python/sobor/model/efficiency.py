# SPDX-License-Identifier: BSD-3-Clause
"""Forecasts of a whole program: T = T_1 / p + T_comm(p), S = T_1 / T, E = S / p.

T_comm is what the program's calls are expected to take on a network, by Sobor's cost models: with
Sobor, and with the flat algorithms of a host. Of a traced program the calls are played again, so
T_comm is what they add to its computing; of calls by hand their times are added up.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from sobor.model.replay import Course, Network, Ranks, Way, play
from sobor.native import Native


@dataclass(frozen=True)
class Call:
    """So many calls of an operation, of so many bytes as choices go by."""

    collective: str
    size: int
    count: float


@dataclass(frozen=True)
class Program:
    """What is known of a program."""

    t1: float  # seconds on one rank
    calls: list[Call]
    #: Ranks that share a node.
    per_node: int = 1
    #: Of a trace.
    course: Course | None = None


class Costs:
    """What calls are expected to take, asked of the core."""

    def __init__(self, native: Native, network: str | None, star: bool = False):
        self._native, self._star = native, star
        self._network = [] if network is None else ["--network", network]
        self.ways = cache(self._ways)
        self.network = cache(self._prices)

    def of(self, collective: str, size: int, ranks: int, nodes: int) -> list[float | None]:
        """Seconds with Sobor, and with the host; None: inside a node nothing is known of it."""
        ways = self.ways(collective, size, ranks, nodes)
        return [None if way is None else way.seconds for way in ways]

    def _ways(
        self, collective: str, size: int, ranks: int, nodes: int
    ) -> tuple[Way | None, Way | None]:
        if ranks == 1:
            return Way(0.0), Way(0.0)
        words = ["--collective", collective, "--ranks", str(ranks), "--bytes", str(size)]
        if nodes == 1:
            choice = self._native.query("choice", *words, "--oversubscribed", "0")
            known = {one["name"]: one["expected_us"] for one in choice["candidates"]}
            expected = known.get(choice["algorithm"])
            return None if expected is None else Way(expected / 1e6), None
        answer = self._native.query("spanning", *words, "--nodes", str(nodes), *self._network)
        (call,) = answer["sizes"]
        host = Way(call["host_us"] / 1e6, call["host"])
        if call["algorithm"] == "host":
            return host, host
        return Way(call["expected_us"] / 1e6, call["schedule"], call["segment"]), host

    def _prices(self, ranks: int, nodes: int) -> Network:
        """What messages between nodes cost; inside a node they are no part of a replay."""
        if nodes == 1:
            return Network()
        words = ["--collective", "barrier", "--ranks", str(ranks), "--nodes", str(nodes)]
        prices = self._native.query("spanning", *words, *self._network)["network"]
        seconds = (prices[name] / 1e9 for name in ("latency_ns", "overhead_ns", "byte_ns"))
        return Network(*seconds, prices["eager_bytes"], self._star)


def rows(program: Program, ranks: list[int], costs: Costs) -> list[dict[str, Any]]:
    """A forecast for each number of ranks."""
    return [_row(program, count, costs) for count in ranks]


def _added(program: Program, ranks: int, nodes: int, costs: Costs) -> list[float | None]:
    """Seconds of all calls, each entered by all at once; with Sobor, and with the host."""
    times = [
        (call.count, costs.of(call.collective, call.size, ranks, nodes)) for call in program.calls
    ]

    def together(side: int) -> float | None:
        if any(of_both[side] is None for _, of_both in times):
            return None
        return sum(count * of_both[side] for count, of_both in times)

    return [together(side) for side in range(2)]


def _played(program: Program, ranks: int, nodes: int, costs: Costs) -> list[float | None]:
    """Seconds that a traced program takes beyond its computing."""
    course, where = program.course, Ranks(ranks, program.per_node)

    def beyond(side: int) -> float | None:
        def way_of(collective: str, size: int) -> Way:
            return costs.ways(collective, size, ranks, nodes)[side]

        if any(way_of(call.collective, call.size) is None for call in course.steps):
            return None
        time = play(course, where, costs.network(ranks, nodes), way_of)
        return time - course.computing / ranks

    return [beyond(side) for side in range(2)]


def _row(program: Program, ranks: int, costs: Costs) -> dict[str, Any]:
    nodes = -(-ranks // program.per_node)
    how: Callable[..., list[float | None]] = _added if program.course is None else _played
    computing = program.t1 / ranks
    row = {"ranks": ranks, "nodes": nodes, "t_comp_s": computing}
    for name, comm in zip(("", "host_"), how(program, ranks, nodes, costs), strict=True):
        time = None if comm is None else computing + comm
        speedup = program.t1 / time if time else None
        row |= {
            f"{name}t_comm_s": comm,
            f"{name}time_s": time,
            f"{name}speedup": speedup,
            f"{name}efficiency": None if speedup is None else speedup / ranks,
        }
    return row
