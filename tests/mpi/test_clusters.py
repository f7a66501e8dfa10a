# SPDX-License-Identifier: BSD-3-Clause
"""Communicators over several nodes, on one machine: ranks that count themselves to other nodes.

What needs networks of their own is in test_hosts.py. SOBOR_TEST_LONG=1 draws ten times as many
cases.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import jobs
import pytest
import test_resources
from aftermath import wait_until
from random_cases import SEED, run_drawn, served_calls

from conftest import usable_mpi

AS = Path(__file__).resolve().parent / "hosts" / "as.sh"
#: Open MPI 4.1's own sums of short integers saturate where it has loops for AVX.
HOST = {"OMPI_MCA_op": "^avx"}
SERVED = {"SOBOR_CLUSTER": "on", "SOBOR_TRIALS": "off", **HOST}
#: Of each rank its node: one node with four ranks and two with one; dealt out; by twos and threes.
UNEQUAL, DEALT, BLOCKS = "0,0,0,0,1,2", "0,1,0,2,0", "0,0,1,1,1"
MOVING = {"scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv"} | {
    f"alltoall{kind}" for kind in ("", "v", "w")
}
REDUCTIONS = ("Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan")


def run_on(tester, key, nodes, words, sobor, timeout=120):
    """Run a program, the first of the words, on ranks that are as if on these nodes.

    Where sobor is None, on the bare host.
    """
    mpi = usable_mpi(key)
    command = [AS, nodes, tester.program(mpi, words[0]), *words[1:]]
    settings = {"environment": HOST} if sobor is None else {"sobor": {**SERVED, **sobor}}
    # Apart: where there are many lines the one of a communicator is asked for.
    settings |= {"timeout": timeout, "apart": True}
    return tester.run_command(mpi, len(nodes.split(",")), command, **settings)


def run_some(tester, key, nodes, words, cases, sobor, **drawn):
    """Run cases of a program, the first of the words, with Sobor."""

    def start(words, bare, timeout):
        return run_on(tester, key, nodes, words, None if bare else sobor, timeout)

    drawn = {"seed": SEED, "max_bytes": 60000, "timeout": 120, **drawn}
    result = run_drawn(tester, start, words, cases, **drawn)
    tester.expect_pass(result, served=True)
    return result


def run_cases(tester, key, nodes, cases, words, most=60000):
    """Run cases of a program; of each communicator of all ranks the nodes are known."""
    drawn = {"seed": SEED + len(nodes), "max_bytes": most}
    result = run_some(tester, key, nodes, words, cases, {}, **drawn)
    count = len(set(nodes.split(",")))
    assert all(r.where == "cluster" and r.nodes == count for r in worlds(result)), result.tail()
    return result


@pytest.mark.parametrize(
    ("key", "nodes", "cases"),
    [("o41", UNEQUAL, 100), ("o41", DEALT, 150), ("m40", "0,0,1", 40), ("o50", BLOCKS, 60)],
)
def test_messages(tester, long_run, key, nodes, cases):
    """Random barriers and broadcasts."""
    result = run_cases(tester, key, nodes, cases * (10 if long_run else 1), ["differential"])
    assert served_calls(result) >= {"barrier", "bcast"}, result.tail()


FOUR = "0,0,1,2,1,3"
#: Of the forms of a broadcast those whose leaders are elected, and one for each kind of messages.
ARRIVALS = [
    *(("o41", UNEQUAL, form) for form in ("cp-tree", "cp-chain", "cp-bt", "cp-ringaas")),
    *(("o41", FOUR, form) for form in ("p-rdaas", "cp-rdaas")),
    *(("m40", "0,0,1,1", form) for form in ("cp-chain", "cp-ringaas")),
]


@pytest.mark.parametrize(("key", "nodes", "form"), ARRIVALS)
def test_arrivals(tester, long_run, key, nodes, form):
    """Random broadcasts by each form, back to back, with roots that change."""
    cases = 400 if long_run else 40
    setting = {"SOBOR_CLUSTER_BCAST": form}
    result = run_some(tester, key, nodes, ["differential"], cases, setting, max_bytes=300000)
    assert "bcast" in served_calls(result), result.tail()
    assert "not in the library" not in result.stderr, result.tail()


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


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_no_memory(tester, key):
    """A rank without memory for the set-up returns an error; no call of it is the host's."""
    settings = {"SOBOR_SERVE_AFTER": "2"}
    result = run_on(tester, key, "0,0,1", ["no_memory", "set-up"], settings, timeout=60)
    tester.expect_pass(result)


@pytest.mark.parametrize(("key", "nodes"), [("o41", FOUR), ("m40", "0,0,1,1")])
def test_first_heads(tester, long_run, key, nodes):
    """Random parts, of which a scatter's go to whoever of a node comes first."""
    cases, setting = 400 if long_run else 40, {"SOBOR_CLUSTER_SCATTER": "first"}
    result = run_some(tester, key, nodes, ["parts"], cases, setting)
    assert served_calls(result) >= {"scatter", "scatterv"}, result.tail()


def test_exchanges(tester, long_run):
    """Random parts where leaders exchange all that the other lacks, of five nodes."""
    calls = ("Allgather", "Allgatherv")
    settings = {f"SOBOR_{name.upper()}_ALGORITHM": "bagds" for name in calls}
    runs = [(["parts"], 60, {})]
    if long_run:
        drawn = [{"seed": s, "max_bytes": 6000} for s in range(SEED, SEED + 10)]
        runs += [(["parts", "--only", name], 1000, one) for one in drawn for name in calls]
    served = set()
    for words, cases, drawn in runs:
        result = run_some(tester, "o41", "0,1,0,2,3,4", words, cases, settings, **drawn)
        served |= served_calls(result)
    assert served >= {name.lower() for name in calls}


SCANS = ("Scan", "Exscan")
#: What is passed to the host has to be right there. MPICH 4.0's own Reduce_scatter overruns its
#: memory where an operation is not commutative; Open MPI's own scans fail with some operations.
REDUCED = [
    *(("o41", BLOCKS, 60, name) for name in REDUCTIONS),
    *(("o41", DEALT, 60, name) for name in REDUCTIONS if name not in SCANS),
    *(("m40", "0,0,1", 20, name) for name in ("Reduce", "Allreduce", "Scan")),
]


@pytest.mark.parametrize(("key", "nodes", "cases", "name"), REDUCED)
def test_reductions(tester, long_run, key, nodes, cases, name):
    """Random reductions; their bits do not depend on the root."""
    words = ["reductions", "--only", name, *(["--op", "sum"] if name in SCANS else [])]
    result = run_cases(tester, key, nodes, cases * (10 if long_run else 1), words, most=16384)
    assert name.lower() in served_calls(result), result.tail()


def named(result, name):
    """The lines of communicators of that name, of which there are some."""
    found = [r for r in result.reports if r.name == name]
    assert found, result.tail()
    return found


def worlds(result):
    """The lines of MPI_COMM_WORLD."""
    return named(result, "MPI_COMM_WORLD")


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


MACHINES = Path(__file__).resolve().parents[2] / "share/sobor/machines"


def test_network(tester):
    """A file says what messages cost; a wrong one is told, and counts for nothing."""
    network = f"SOBOR_NETWORK={MACHINES / 'cluster-128x8.json'}"
    mpi = usable_mpi("o41")
    command = [AS, "0,0,1", "env", network, tester.program(mpi, "basics")]
    result = tester.run_command(mpi, 3, command, sobor={**SERVED, "SOBOR_VERBOSE": "2"})
    tester.expect_pass(result)
    assert "a message 4000 ns, a byte 10 ns" in result.stderr, result.tail()
    result = run_on(tester, "o41", "0,0,1", ["basics"], {"SOBOR_NETWORK": "/no/such.json"})
    tester.expect_pass(result)
    assert "SOBOR_NETWORK: /no/such.json" in result.stderr, result.tail()


#: The ranks of one node take another file for the network's.
OTHERS = '[ $SOBOR_NODE = 1 ] && export SOBOR_NETWORK="$0"; exec "$@"'


def test_network_of_rank_0(tester):
    """Prices of other ranks do not count: segments would be cut differently."""
    mpi = usable_mpi("o41")
    machine = MACHINES / "cluster-128x8.json"
    command = [AS, "0,0,1,1", "sh", "-c", OTHERS, machine, tester.program(mpi, "basics")]
    result = tester.run_command(mpi, 4, command, sobor={**SERVED, "SOBOR_VERBOSE": "2"})
    tester.expect_pass(result)
    assert "a message 1500 ns" in result.stderr, result.tail()


#: On the nodes that are named, no memory is had.
POOR = 'case ",$0," in *,$SOBOR_NODE,*) export SOBOR_MEMORY=4KiB;; esac; exec "$@"'


@pytest.mark.parametrize(
    ("nodes", "poor", "found"), [("0,0,1,1", "1", 3), ("0,1,0,1", "0", 3), ("0,0,1,1", "0,1", 0)]
)
def test_little_memory(tester, nodes, poor, found):
    """A node whose ranks may have too little shared memory falls apart; the others stay nodes."""
    mpi = usable_mpi("o41")
    command = [AS, nodes, "sh", "-c", POOR, poor, tester.program(mpi, "basics")]
    result = tester.run_command(mpi, 4, command, sobor=SERVED)
    tester.expect_pass(result)
    for world in worlds(result):
        assert world.where == ("cluster" if found else "host"), result.tail()
        assert world.nodes == found if found else "no-shared-memory" in world.reasons


def rank_processes(job, program):
    """The job's ranks, by the node that each counts itself to."""
    found = {}
    for pid in job.processes():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/exe").resolve() == program.resolve():
                words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                node = next(w[11:].decode() for w in words if w.startswith(b"SOBOR_NODE="))
                found.setdefault(node, []).append(pid)
    return found


def start_on(tester, key, nodes, words):
    """Start a program; the job, and its ranks by node when all are in their calls."""
    mpi = usable_mpi(key)
    if tester.bare_only:
        pytest.skip("only the bare MPI is asked for")
    program = tester.program(mpi, words[0])
    ranks = nodes.split(",")
    environment = jobs.sobor_environment(SERVED)
    command = mpi.command(len(ranks), environment, [])
    job = jobs.Job(
        [*command, *map(str, [AS, nodes, program, *words[1:]])],
        jobs.base_environment(),
        tester.folder,
    )
    assert wait_until(lambda: "loops" in job.output(), 60), job.errors()
    return job, rank_processes(job, program)


@pytest.mark.parametrize("which", [slice(0, 1), slice(0, None)], ids=["rank", "node"])
def test_frozen(tester, which):
    """A rank, or a whole node, that stops for two seconds is waited for."""
    job, ranks = start_on(tester, "o41", "0,0,1", ["spanning", "until", "thawed"])
    frozen = ranks["0"][which]
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(2)
    for pid in frozen:
        os.kill(pid, signal.SIGCONT)
    (tester.folder / "thawed").touch()
    tester.expect_pass(job.wait(60), served=True)


@pytest.mark.parametrize("node", ["0", "1"])
def test_killed(tester, node):
    """When a rank is killed the job ends as without Sobor."""
    job, ranks = start_on(tester, "o41", "0,0,1", ["spanning", "loop", 1000000])
    os.kill(ranks[node][0], signal.SIGKILL)
    result = job.wait(30)
    assert not result.timed_out and result.returncode != 0, result.tail()


def test_node_without_memory(tester):
    """A node that has too little shared memory falls apart into its ranks; the rest is served."""
    sobor = {"SOBOR_TEST_NODE_1": "SOBOR_SEGMENT=off", "SOBOR_VERBOSE": "2"}
    result = run_on(tester, "o41", "0,0,1,1", ["spanning", "loop", 40], sobor)
    tester.expect_pass(result, served=True)
    assert all(r.where == "cluster" and r.nodes == 3 for r in worlds(result)), result.tail()


def test_settings_of_rank_0(tester):
    """What another node's environment says counts for nothing."""
    sobor = {
        "SOBOR_TEST_NODE_1": "SOBOR_ALLREDUCE_ALGORITHM=host SOBOR_BCAST_ALGORITHM=ring"
        " SOBOR_REPRODUCIBLE=strict SOBOR_COLLECTIVES=barrier"
    }
    result = run_on(tester, "o41", "0,0,1,1", ["spanning", "loop", 40], sobor)
    tester.expect_pass(result, served=True)
    assert all(r.host == 0 and r.allreduce == 40 for r in worlds(result)), result.tail()


@pytest.mark.parametrize("key", ["o41", "m40"])
@pytest.mark.parametrize("way", ["many", "alive", "threads"])
def test_communicators(tester, long_run, key, way):
    """Communicators one by one, together, and in two threads."""
    count = {"many": 3000, "alive": 300, "threads": 200} if long_run else {}
    few = {"o41": 30, "m40": 8}[key]
    result = run_on(tester, key, "0,0,1", ["spanning", way, count.get(way, few)], {})
    tester.expect_pass(result, served=True)


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_callback_in_finalize(tester, key):
    """What MPI_Finalize tells a program of may still use communicators over several nodes."""
    result = run_on(tester, key, "0,0,1", ["teardown", "in-finalize"], {})
    tester.expect_pass(result, served=True)
    assert "callback in finalize" in result.stdout, result.tail()


@pytest.mark.skipif(jobs.WITH_HEAP != "", reason="long blocks are of the shared heap")
@pytest.mark.parametrize("key", ["o41", "m40"])
def test_blocks_of_malloc(tester, key):
    """Long blocks of the program lie where they do without Sobor."""
    bare = run_on(tester, key, "0,0,1", ["blocks"], None)
    tester.expect_pass(bare)
    if tester.bare_only:
        return
    result = run_on(tester, key, "0,0,1", ["blocks"], {})
    tester.expect_pass(result, served=True)
    test_resources.expect_places(bare, result)


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_tags_come_round(tester, key):
    """More calls than tags can number are under way when a rank on another node wakes up."""
    result = run_on(tester, key, "0,0,1", ["spanning", "asleep", 4106], {})
    tester.expect_pass(result, served=True)
    assert all(world.bcast == 4106 for world in worlds(result)), result.tail()


def test_too_many(tester):
    """Communicators beyond the bound are the host's, on all ranks."""
    result = run_on(tester, "o41", "0,0,1", ["spanning", "alive", 8], {"SOBOR_CLUSTERS": "4"})
    tester.expect_pass(result, served=True)
    assert sum("too-many-clusters" in r.reasons for r in result.reports) == 4, result.tail()


def test_trials(tester):
    """What only moves data is tried against the host; reductions are not."""
    sobor = {"SOBOR_TRIALS": "rules", "SOBOR_TRIAL_REST": "3"}
    result = run_on(tester, "o41", "0,1,0,1", ["spanning", "loop", 200], sobor)
    tester.expect_pass(result, served=True)
    world = worlds(result)[0]
    assert world.by_trial > 0 and world.allreduce == 200, result.tail()


@pytest.mark.parametrize(("nodes", "served"), [("0,0,1", True), ("0,1,0", False)])
def test_strict(tester, nodes, served):
    """A reduction from left to right is the host's where the ranks of a node are scattered.

    Beside broadcasts by order of arrival: ranks agree on those by a reduction.
    """
    strict = {"SOBOR_REPRODUCIBLE": "strict", "SOBOR_CLUSTER_BCAST": "auto"}
    result = run_on(tester, "o41", nodes, ["spanning", "loop", 20], strict)
    tester.expect_pass(result, served=True)
    for world in worlds(result):
        assert world.bcast == 20, result.tail()
        assert world.host == (0 if served else 20), result.tail()
        assert served or world.reasons == ["order"], result.tail()


def test_strict_trials(tester):
    """What ranks tell each other of trials needs no order."""
    sobor = {"SOBOR_TRIALS": "rules", "SOBOR_TRIAL_REST": "3", "SOBOR_REPRODUCIBLE": "strict"}
    result = run_on(tester, "o41", "0,1,0,1", ["spanning", "loop", 200], sobor)
    tester.expect_pass(result, served=True)
    assert worlds(result)[0].by_trial > 0, result.tail()
