# SPDX-License-Identifier: BSD-3-Clause
"""Communicators over several nodes, on one machine: ranks that count themselves to other nodes.

What needs networks of their own is in test_hosts.py. SOBOR_TEST_LONG=1 draws ten times as many
cases.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from random_cases import SEED, served_calls

from conftest import usable_mpi

AS = Path(__file__).resolve().parent / "hosts" / "as.sh"
SERVED = {"SOBOR_CLUSTER": "on", "SOBOR_TRIALS": "off"}
#: Of each rank its node: one node with four ranks and two with one; dealt out; by twos and threes.
UNEQUAL, DEALT, BLOCKS = "0,0,0,0,1,2", "0,1,0,2,0", "0,0,1,1,1"
MOVING = {"scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv"} | {
    f"alltoall{kind}" for kind in ("", "v", "w")
}
REDUCTIONS = ("Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block")


def run_on(tester, key, nodes, words, sobor):
    """Run a program, the first of the words, on ranks that are as if on these nodes."""
    mpi = usable_mpi(key)
    command = [AS, nodes, tester.program(mpi, words[0]), *words[1:]]
    return tester.run_command(
        mpi, len(nodes.split(",")), command, sobor={**SERVED, **sobor}, timeout=120
    )


def run_cases(tester, key, nodes, cases, words, most=60000):
    """Run a program that draws cases; it fails by itself at the first difference."""
    drawn = ["--seed", SEED + len(nodes), "--cases", cases, "--max-bytes", most]
    result = run_on(tester, key, nodes, [words[0], *drawn, *words[1:]], {})
    tester.expect_pass(result, served=True)
    assert f"cases {cases}" in result.stdout, result.tail()
    spanning = [r for r in result.reports if r.name == "MPI_COMM_WORLD"]
    assert all(r.where == "cluster" and r.nodes == len(set(nodes.split(","))) for r in spanning)
    return result


@pytest.mark.parametrize(
    ("key", "nodes", "cases"),
    [("o41", UNEQUAL, 100), ("o41", DEALT, 150), ("m40", "0,0,1", 40), ("o50", BLOCKS, 60)],
)
def test_messages(tester, long_run, key, nodes, cases):
    """Random barriers and broadcasts."""
    result = run_cases(tester, key, nodes, cases * (10 if long_run else 1), ["differential"])
    assert served_calls(result) >= {"barrier", "bcast"}, result.tail()


@pytest.mark.parametrize(
    ("key", "nodes", "cases"),
    [("o41", UNEQUAL, 150), ("o41", DEALT, 150), ("m40", "0,1,0", 40), ("m50", "0,0,1", 40)],
)
def test_parts(tester, long_run, key, nodes, cases):
    """Random calls of what moves parts."""
    result = run_cases(tester, key, nodes, cases * (10 if long_run else 1), ["parts"])
    moving = {"scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv"}
    moving |= {"alltoall", "alltoallv", "alltoallw"}
    assert served_calls(result) >= moving, result.tail()


#: MPICH 4.0's own Reduce_scatter overruns its memory where an operation is not commutative.
REDUCED = [
    *(
        (key, nodes, 60, name)
        for name in REDUCTIONS
        for key, nodes in (("o41", BLOCKS), ("o41", DEALT))
    ),
    *(("m40", "0,0,1", 20, name) for name in ("Reduce", "Allreduce")),
]


@pytest.mark.parametrize(("key", "nodes", "cases", "name"), REDUCED)
def test_reductions(tester, long_run, key, nodes, cases, name):
    """Random reductions; their bits do not depend on the root."""
    words = ["reductions", "--only", name]
    result = run_cases(tester, key, nodes, cases * (10 if long_run else 1), words, most=16384)
    assert name.lower() in served_calls(result), result.tail()


def worlds(result):
    """The lines of MPI_COMM_WORLD."""
    return [r for r in result.reports if r.name == "MPI_COMM_WORLD"]


@pytest.mark.parametrize(
    ("nodes", "setting", "reason"),
    [
        ("0,0,1", {"SOBOR_CLUSTER": "off"}, "absent-ranks"),
        ("0,0,1", {"SOBOR_CLUSTERS": "0"}, "too-many-clusters"),
        ("0,1,2", {}, "one-rank-nodes"),
        ("0,0,1", {"SOBOR_SEGMENT": "off"}, "no-shared-memory"),
        ("0,0,1", {"SOBOR": "off"}, "disabled"),
    ],
)
def test_passed(tester, nodes, setting, reason):
    """Why a communicator over several nodes is the host's."""
    result = run_on(tester, "o41", nodes, ["basics"], setting)
    tester.expect_pass(result)
    assert all(r.where == "host" and reason in r.reasons for r in worlds(result)), result.tail()
