# SPDX-License-Identifier: BSD-3-Clause
"""Forecasts of a whole program: T = T_1 / p + T_comm(p), S = T_1 / T, E = S / p.

T_comm is what the program's calls are expected to take on a network, by Sobor's cost models: with
Sobor, and with the flat algorithms of a host.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

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


class Costs:
    """Seconds of calls, asked of the core."""

    def __init__(self, native: Native, network: str | None):
        self._native = native
        self._network = [] if network is None else ["--network", network]
        self.of = cache(self._of)

    def _of(self, collective: str, size: int, ranks: int, nodes: int) -> tuple[float, float | None]:
        """With Sobor, and with the host; None: inside a node nothing is known of it."""
        if ranks == 1:
            return 0.0, 0.0
        words = ["--collective", collective, "--ranks", str(ranks), "--bytes", str(size)]
        if nodes == 1:
            choice = self._native.query("choice", *words, "--oversubscribed", "0")
            known = {one["name"]: one["expected_us"] for one in choice["candidates"]}
            return known[choice["algorithm"]] / 1e6, None
        answer = self._native.query("spanning", *words, "--nodes", str(nodes), *self._network)
        (call,) = answer["sizes"]
        ours = "host_us" if call["algorithm"] == "host" else "expected_us"
        return call[ours] / 1e6, call["host_us"] / 1e6


def rows(program: Program, ranks: list[int], costs: Costs) -> list[dict[str, Any]]:
    """A forecast for each number of ranks."""
    return [_row(program, count, costs) for count in ranks]


def _row(program: Program, ranks: int, costs: Costs) -> dict[str, Any]:
    nodes = -(-ranks // program.per_node)
    times = [
        (call.count, costs.of(call.collective, call.size, ranks, nodes)) for call in program.calls
    ]
    ours = sum(count * time for count, (time, _) in times)
    known = all(host is not None for _, (_, host) in times)
    theirs = sum(count * host for count, (_, host) in times) if known else None
    computing = program.t1 / ranks
    row = {"ranks": ranks, "nodes": nodes, "t_comp_s": computing}
    for name, comm in (("", ours), ("host_", theirs)):
        time = None if comm is None else computing + comm
        speedup = program.t1 / time if time else None
        row |= {
            f"{name}t_comm_s": comm,
            f"{name}time_s": time,
            f"{name}speedup": speedup,
            f"{name}efficiency": None if speedup is None else speedup / ranks,
        }
    return row
