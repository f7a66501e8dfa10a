# SPDX-License-Identifier: BSD-3-Clause
"""What the broadcasts of a trace would have cost otherwise: the simulator replays their arrivals.

Over fixed leaders of the nodes, over whoever of a node comes first, and over a binomial tree of
those if all knew beforehand who they are.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sobor.machines import Machine, find_machine
from sobor.native import Native
from sobor.simulate.engine import check_engine, run_engine
from sobor.trace.analysis import Calls, size_class
from sobor.trace.files import COLLECTIVES, Trace

#: The ways, by the name of the figure: what the simulator runs.
WAYS = {
    "fixed_us": ("--algorithm", "cluster", "--set", "SOBOR_CLUSTER_BCAST=fixed"),
    "competitive_us": ("--algorithm", "cluster", "--set", "SOBOR_CLUSTER_BCAST=cp-chain"),
    "ideal_us": ("--algorithm", "cp-ideal"),
}
# Kinds of broadcasts, those with the most waiting first, and calls of each that are replayed.
_KINDS, _CALLS = 3, 48


@dataclass(frozen=True)
class Kind:
    """The broadcasts of one communicator and size, over several hosts."""

    places: np.ndarray  # of the calls, in the order of time
    members: list[int]  # ranks of MPI_COMM_WORLD, those of one host together
    nodes: int
    roots: set[int]  # places among the members


def otherwise(trace: Trace, calls: Calls, name: str, native: Native) -> list[dict[str, Any]]:
    """A row for each kind; `name` is a machine whose network is that between the hosts."""
    check_engine(native)
    machine = find_machine(name)
    kinds = _kinds(trace, calls)[:_KINDS]
    return [_row(trace, calls, kind, machine, native) for kind in kinds]


def _kinds(trace: Trace, calls: Calls) -> list[Kind]:
    """Those with the most waiting first."""
    chosen = np.flatnonzero((calls.collective == COLLECTIVES.index("bcast")) & (calls.bytes > 0))
    index = np.repeat(np.arange(calls.count), calls.ranks)
    waited = np.bincount(index, calls.waiting, calls.count)
    keys = np.stack([calls.comm[chosen], size_class(calls.bytes[chosen])], axis=1)
    found: list[tuple[float, Kind]] = []
    for key in np.unique(keys, axis=0) if chosen.size else ():
        places = chosen[(keys == key).all(axis=1)]
        kind = _kind(trace, calls, places[np.argsort(calls.first[places], kind="stable")])
        if kind.nodes > 1:
            found.append((float(waited[places].sum()), kind))
    return [kind for _, kind in sorted(found, key=lambda each: -each[0])]


def _rows(calls: Calls, place: int) -> np.ndarray:
    """The records of one call, by rank."""
    rows = calls.rows[calls.begin[place] : calls.begin[place] + calls.ranks[place]]
    return rows[np.argsort(rows["rank"])]


def _kind(trace: Trace, calls: Calls, places: np.ndarray) -> Kind:
    ranks = [int(rank) for rank in _rows(calls, places[0])["rank"]]
    hosts = list(dict.fromkeys(trace.hosts[rank] for rank in ranks))
    members = sorted(ranks, key=lambda rank: (hosts.index(trace.hosts[rank]), rank))
    roots = set(np.unique(calls.rows["root"][calls.begin[places]]).tolist())
    return Kind(places, members, len(hosts), {members.index(ranks[root]) for root in roots})


def _row(
    trace: Trace, calls: Calls, kind: Kind, machine: Machine, native: Native
) -> dict[str, Any]:
    size = int(np.median(calls.bytes[kind.places]))
    taken = [_rows(calls, place) for place in kind.places]
    measured = float(np.mean([(rows["left"] - rows["entered"]).mean() for rows in taken]) / 1e3)
    row = {
        "communicator": trace.comms[int(calls.comm[kind.places[0]])].name,
        "bytes": size,
        "ranks": len(kind.members),
        "nodes": kind.nodes,
        "calls": len(taken),
        "machine": machine.name,
        "measured_us": measured,
    }
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.writelines(f"{line}\n" for line in _arrivals(taken, kind))
        file.flush()
        for name, way in WAYS.items():
            words = _words(machine, kind, size, Path(file.name))
            row[name] = run_engine(native, (*words, *way), None)[0]["rank_mean_us"]
    return row


def _arrivals(taken: list[np.ndarray], kind: Kind) -> list[str]:
    """Of a sample of the calls, in microseconds after the first rank."""
    lines = []
    for place in np.unique(np.linspace(0, len(taken) - 1, _CALLS).astype(int)):
        entered = dict(zip(taken[place]["rank"].tolist(), taken[place]["entered"], strict=True))
        first = min(entered.values())
        lines.append(" ".join(f"{(entered[rank] - first) / 1e3:.3f}" for rank in kind.members))
    return lines


def _words(machine: Machine, kind: Kind, size: int, arrivals: Path) -> list[str]:
    """What the simulator is asked, but for the way."""
    (root, *others) = sorted(kind.roots)
    words = ["bcast", "--machine", str(machine.path), "--map", "core", "--bytes", str(size)]
    words += ["--nodes", str(kind.nodes), "--ranks", str(len(kind.members)), "--seed", "1"]
    words += ["--calls", str(min(_CALLS, len(kind.places))), "--warmup", "0"]
    words += ["--root", "rotate" if others else str(root)]
    return [*words, "--arrival", f"trace:{arrivals}"]
