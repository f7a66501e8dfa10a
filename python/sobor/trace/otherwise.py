# SPDX-License-Identifier: BSD-3-Clause
"""What the broadcasts of a trace would have cost otherwise: the simulator replays their arrivals.

Over fixed leaders of the nodes, over whoever of a node comes first, and over a binomial tree of
those if all knew beforehand who they are. The simulator has as many ranks on each node, and one
root in a run: where hosts have different numbers nothing is replayed, and each root is by itself.
"""

import tempfile
from collections import Counter
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
# Kinds of broadcasts, those with the most waiting first; calls of each that are replayed, and the
# most roots that these have.
_KINDS, _CALLS, _ROOTS = 3, 48, 8

#: How late each member is, in microseconds after the first, and the root's place among them.
Call = tuple[str, int]


@dataclass(frozen=True)
class Kind:
    """The broadcasts of one communicator and size, over several hosts."""

    communicator: str
    places: np.ndarray  # of the calls, in the order of time
    members: list[int]  # ranks of MPI_COMM_WORLD, those of one host together
    hosts: list[int]  # how many of them each has
    roots: np.ndarray  # of each call, as a place among the members

    @property
    def even(self) -> bool:
        """Whether all hosts have as many."""
        return len(set(self.hosts)) == 1


def otherwise(
    trace: Trace, calls: Calls, name: str, native: Native
) -> tuple[list[dict[str, Any]], list[str]]:
    """A row for each kind, and what there is to say of those that are left out.

    `name` is a machine whose network is that between the hosts.
    """
    check_engine(native)
    machine = find_machine(name)
    kinds = _kinds(trace, calls)
    chosen = [kind for kind in kinds if kind.even][:_KINDS]
    notes = [_left_out(kind) for kind in kinds if not kind.even]
    return [_row(calls, kind, machine, native) for kind in chosen], list(dict.fromkeys(notes))


def _left_out(kind: Kind) -> str:
    numbers = ", ".join(map(str, kind.hosts))
    return (
        f"broadcasts on {kind.communicator} are not replayed: its hosts have {numbers} ranks, and "
        "the simulator as many on each node"
    )


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
        if len(kind.hosts) > 1:
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
    counts = Counter(trace.hosts[rank] for rank in ranks)
    place = np.array([members.index(rank) for rank in ranks])
    roots = place[calls.rows["root"][calls.begin[places]]]
    name = trace.comms[int(calls.comm[places[0]])].name
    return Kind(name, places, members, [counts[host] for host in hosts], roots)


def _row(calls: Calls, kind: Kind, machine: Machine, native: Native) -> dict[str, Any]:
    often = [root for root, _ in Counter(kind.roots.tolist()).most_common(_ROOTS)]
    mine = np.isin(kind.roots, often)
    places, roots = kind.places[mine], kind.roots[mine]
    size = int(np.median(calls.bytes[places]))
    taken = [_rows(calls, place) for place in places]
    measured = float(np.mean([(rows["left"] - rows["entered"]).mean() for rows in taken]) / 1e3)
    sample = np.unique(np.linspace(0, len(taken) - 1, _CALLS).astype(int))
    replayed = [(_arrival(taken[at], kind), int(roots[at])) for at in sample]
    return {
        "communicator": kind.communicator,
        "bytes": size,
        "ranks": len(kind.members),
        "nodes": len(kind.hosts),
        "calls": len(taken),
        "machine": machine.name,
        "measured_us": measured,
        **_replay(replayed, kind, size, machine, native),
    }


def _arrival(rows: np.ndarray, kind: Kind) -> str:
    entered = dict(zip(rows["rank"].tolist(), rows["entered"], strict=True))
    first = min(entered.values())
    return " ".join(f"{(entered[rank] - first) / 1e3:.3f}" for rank in kind.members)


def _replay(
    replayed: list[Call], kind: Kind, size: int, machine: Machine, native: Native
) -> dict[str, float]:
    """By way: the mean over the calls."""
    sums = dict.fromkeys(WAYS, 0.0)
    for root in sorted({root for _, root in replayed}):
        lines = [line for line, other in replayed if other == root]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            words = _words(machine, kind, size, root, len(lines), Path(file.name))
            for name, way in WAYS.items():
                row = run_engine(native, (*words, *way), None)[0]
                sums[name] += len(lines) * row["rank_mean_us"]
    return {name: total / len(replayed) for name, total in sums.items()}


def _words(
    machine: Machine, kind: Kind, size: int, root: int, calls: int, arrivals: Path
) -> list[str]:
    """What the simulator is asked, but for the way."""
    words = ["bcast", "--machine", str(machine.path), "--map", "core", "--bytes", str(size)]
    words += ["--nodes", str(len(kind.hosts)), "--ranks", str(len(kind.members)), "--seed", "1"]
    words += ["--calls", str(calls), "--warmup", "0", "--root", str(root)]
    return [*words, "--arrival", f"trace:{arrivals}"]
