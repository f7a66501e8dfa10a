# SPDX-License-Identifier: BSD-3-Clause
"""Several hosts: communicators across them get clusters, those within one host teams."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import aftermath
import building
import emulated_slurm
import jobs
import pytest
from emulated_hosts import AGENT, NETWORK, Hosts, unavailable
from mpis import BUILD, PRELOAD, REPOSITORY
from random_cases import SEED, run_drawn
from test_apps import check_hpcc_output, need, write_hpcc_input
from test_clusters import named, worlds
from test_mpi4py_suite import COLLECTIVES, SHORTER, read_outcome, suite_command
from test_tools import build_tool

from conftest import usable_mpi

sys.path.insert(0, str(REPOSITORY / "python"))

from sobor.trace import analysis, files

RANKS_PER_HOST = 2
TIME_LIMIT = float(os.environ.get("SOBOR_TEST_SECONDS", "40"))
SUBNET = f"{NETWORK}.0/24"
REASON = unavailable()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


@dataclass(frozen=True)
class Place:
    """So many ranks on each host; dealt out one by one, or in blocks."""

    ranks: tuple[int, ...]
    dealt: bool = False

    def listing(self, hosts: Hosts) -> str:
        """The hosts, as launchers take them."""
        pairs = zip(hosts.names, self.ranks, strict=False)
        return ",".join(f"{name}:{ranks}" for name, ranks in pairs)


EVEN = Place((RANKS_PER_HOST, RANKS_PER_HOST))
ELEVEN = Place((1, 2, 3, 1, 4))


def launch_line(mpi, hosts: Hosts, variables: dict[str, str], place: Place) -> list[str]:
    """The launcher with what it needs to find its way to the emulated hosts."""
    if mpi.open_mpi:
        options = [
            "--mca",
            "plm_rsh_agent",
            str(AGENT),
            "--mca",
            "mpi_yield_when_idle",
            "1",
            "--mca",
            "pml",
            "ob1",
            "--mca",
            "btl",
            "self,vader,tcp",
            "--mca",
            "btl_tcp_if_include",
            SUBNET,
            "--mca",
            "oob_tcp_if_include",
            SUBNET,
            "-H",
            place.listing(hosts),
            *(["--map-by", "node"] if place.dealt else []),
        ]
    else:
        options = [
            "-launcher",
            "ssh",
            "-launcher-exec",
            str(AGENT),
            "-iface",
            "eth0",
            "-hosts",
            ",".join(hosts.names[: len(place.ranks)]) if place.dealt else place.listing(hosts),
        ]
    return mpi.command(sum(place.ranks), variables, options)


def run_on(
    tester, mpi, hosts: Hosts, sobor, place: Place, command: list, limit: float = TIME_LIMIT
) -> jobs.Result:
    """Run a command from the first host to its end."""
    return start_on(tester, mpi, hosts, sobor, place, command).wait(limit)


def start_on(tester, mpi, hosts: Hosts, sobor, place: Place, command: list) -> jobs.Job:
    """Start a command from the first host."""
    variables = jobs.sobor_environment(sobor) if sobor is not None else {}
    line = [*launch_line(mpi, hosts, variables, place), *map(str, command)]
    words = " ".join(f"'{word}'" for word in line)
    environment = {**jobs.base_environment(), **hosts.environment, "UCX_NET_DEVICES": "eth0"}
    return jobs.Job([str(AGENT), hosts.names[0], words], environment, tester.folder)


def run_both(tester, mpi, hosts: Hosts, sobor) -> jobs.Result:
    """Run the program that uses all hosts and each of them."""
    command = [tester.program(mpi, "several_hosts"), RANKS_PER_HOST]
    return run_on(tester, mpi, hosts, sobor, EVEN, command)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    """Five emulated hosts, of which a test uses the first ones; the same for all tests."""
    with Hosts(5, tmp_path_factory.mktemp("hosts")) as made:
        yield made


@pytest.fixture
def own_hosts(tmp_path_factory):
    """As many for one test, which leaves mounts in them."""
    with Hosts(5, tmp_path_factory.mktemp("own")) as made:
        yield made


#: Of broadcasts, as it is said of a cluster.
SEEN = re.compile(r"of broadcasts (\S+) ns, (\S+) ns")


def test_what_messages_take(tester, tmp_path):
    """Measured at set-up: a byte of a slow network takes about as long as its rate says."""
    mpi = usable_mpi("o41")
    with Hosts(2, tmp_path, "400mbit") as slow:
        command = [tester.program(mpi, "several_hosts"), RANKS_PER_HOST]
        result = run_on(tester, mpi, slow, {"SOBOR_VERBOSE": "2"}, EVEN, command)
    tester.expect_pass(result, served=True)
    latency, byte = map(float, SEEN.search(result.stderr).groups())
    assert 100 < latency < 1e9, result.tail()
    assert 20 / 5 < byte < 20 * 100, result.tail()


@pytest.mark.parametrize(("ranks", "shared"), [((1, 2), False), ((1, 3), True)])
def test_bench_says_who_shares_processors(tester, hosts, ranks, shared):
    """Each host has all processors here; buffers are those of its own ranks."""
    processors = len(os.sched_getaffinity(0))
    if processors != 2:
        pytest.skip("needs two processors")
    mpi = usable_mpi("o41")
    command = [BUILD / "bin" / "sobor-bench", "--abi", mpi.backend, "--libmpi", mpi.library]
    command += ["--collectives", "bcast", "--sizes", "64K", "--seconds", "0.002"]
    # A trial may find the host faster on a busy machine.
    settings = {"SOBOR_TRIALS": "off"}
    result = run_on(tester, mpi, hosts, settings, Place(ranks), command)
    assert result.returncode == 0, result.tail()
    found = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    assert [row["variant"] for row in found] == ["hot", "cold"], result.tail()
    for row in found:
        assert row["checked"] is True and row["algorithm"] != "host", row
        assert (row["nodes"], row["processors"], row["oversubscribed"]) == (2, 4, shared), row


@pytest.mark.parametrize("key", ["o41", "m40", "m50"])
def test_bare(tester, hosts, key):
    """The emulated hosts work for the MPI alone."""
    tester.expect_pass(run_both(tester, usable_mpi(key), hosts, None))


@pytest.mark.parametrize("key", ["m40"])
def test_bare_end(tester, hosts, key):
    """Jobs of many hosts end, of which every other one would not (programs/yielding.c)."""
    mpi = usable_mpi(key)
    for seed in range(5):
        words = ["differential", "--seed", seed, "--cases", 5]
        command = [tester.program(mpi, words[0]), *words[1:]]
        tester.expect_pass(run_on(tester, mpi, hosts, None, ELEVEN, command))


@pytest.mark.parametrize("segment", ["auto", "named"])
@pytest.mark.parametrize("key", ["o41", "m40", "m50"])
def test_several_hosts(tester, hosts, key, segment):
    """Who shares a host is found out, and that all run with Sobor."""
    if tester.bare_only:
        pytest.skip("only the bare MPI is asked for")
    settings = {"SOBOR_SEGMENT": segment, "SOBOR_TRIALS": "off"}
    result = run_both(tester, usable_mpi(key), hosts, settings)
    tester.expect_pass(result, served=True)
    for report in named(result, "across_hosts"):
        assert report.where == "host" and "one-rank-nodes" in report.reasons, result.tail()
        assert report.barrier == report.bcast == 0, result.tail()
    for report in worlds(result):
        assert report.where == "cluster" and report.nodes == 2, result.tail()
        assert report.barrier == report.bcast == 40, result.tail()
    local = named(result, "one_host")
    assert len(local) == 2, result.tail()
    assert all(r.where == "shm" and r.barrier == r.bcast == 40 for r in local), result.tail()


@pytest.mark.parametrize("key", ["o41", "m40", "m50"])
def test_tool_that_goes_past(tester, hosts, key):
    """Its collectives in MPI_Finalize come when clusters have ended; it calls the host's itself."""
    if tester.bare_only:
        pytest.skip("only the bare MPI is asked for")
    mpi = usable_mpi(key)
    preload = f"{PRELOAD}:{build_tool(mpi, 'tool_past')}"
    result = run_both(tester, mpi, hosts, {"LD_PRELOAD": preload, "SOBOR_TRIALS": "off"})
    tester.expect_pass(result, served=True)
    assert [report.where for report in worlds(result)][:1] == ["cluster"], result.tail()
    told = [line for line in result.stdout.splitlines() if line.startswith("tool: ")]
    assert told == [f"tool: {what} right" for what in ("begins", "goes on", "ends", "is gone")]


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_clocks_of_a_trace(tester, hosts, key):
    """Emulated hosts have one clock: each finds the offset 0, within the error that it states."""
    if tester.bare_only:
        pytest.skip("only the bare MPI is asked for")
    folder = tester.folder / "trace"
    result = run_both(tester, usable_mpi(key), hosts, {"SOBOR_TRACE": str(folder)})
    tester.expect_pass(result)
    trace = files.read(str(folder))
    assert trace.ranks == [0, 1, 2, 3] and len(set(trace.hosts.values())) == 2
    firsts = [file for path in folder.iterdir() if (file := files.read_file(path)).rank in (0, 2)]
    for file in firsts:
        for clock in file.header["clock"]:
            assert clock["known"] and abs(clock["offset"]) <= clock["error"] < 10**9
            assert (clock["error"] > 0) == (file.rank == 2)
    assert 0 < trace.clock_error < 2
    calls = analysis.match(trace, trace.calls)
    barriers = calls.rows[calls.rows["collective"] == 0]
    latest = calls.spread(calls.last)[calls.rows["collective"] == 0]
    assert barriers.size and (barriers["left"] >= latest - 1e9 * trace.clock_error).all()


@pytest.mark.parametrize(
    ("key", "cluster"), [("o41", "auto"), ("o41", "on"), ("m40", "auto"), ("m40", "on")]
)
def test_clocks_without_a_rank(tester, hosts, key, cluster):
    """Where a rank does not record, nobody waits for it; hosts then have clocks of their own.

    What the launcher's list says counts, also where the user has said that all run with Sobor.
    """
    if tester.bare_only:
        pytest.skip("only the bare MPI is asked for")
    mpi = usable_mpi(key)
    folder = tester.folder / "trace"
    wrapper = tester.folder / "without.sh"
    last = 2 * RANKS_PER_HOST - 1
    wrapper.write_text(
        f'[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = {last} ] && unset SOBOR_TRACE\nexec "$@"\n'
    )
    command = ["sh", wrapper, tester.program(mpi, "several_hosts"), RANKS_PER_HOST]
    settings = {"SOBOR_TRACE": str(folder), "SOBOR_CLUSTER": cluster}
    result = run_on(tester, mpi, hosts, settings, EVEN, command)
    tester.expect_pass(result)
    trace = files.read(str(folder))
    assert trace.ranks == list(range(last)) and trace.clock_error is None
    assert any("were not compared" in note for note in trace.notes)


UNEQUAL, DEALT, FIVE = Place((4, 1, 1)), Place((2, 2), dealt=True), Place((1, 2, 1, 1, 1))
CASES = [
    ("o41", UNEQUAL, "parts", 100),
    ("o41", UNEQUAL, "reductions", 120),
    ("o41", DEALT, "parts", 100),
    ("o41", DEALT, "reductions", 120),
    ("o41", FIVE, "reductions", 100),
    ("o41", FIVE, "parts", 60),
    ("o41", FIVE, "differential", 60),
    ("m40", Place((2, 1)), "parts", 20),
    ("m40", Place((1, 2)), "reductions --only Allreduce", 20),
    ("m40", ELEVEN, "differential", 60),
]
#: In long runs besides.
LONG = [
    ("o41", ELEVEN, "reductions", 200),
    ("o41", ELEVEN, "parts", 200),
    ("o41", ELEVEN, "differential", 200),
    ("m40", ELEVEN, "parts", 250),
    ("m40", ELEVEN, "differential", 250),
    ("m40", ELEVEN, "reductions", 250),
]
#: Hosts' own ways that are right: Open MPI 4.1's sums of short integers saturate where it has loops
#: for AVX. Over several hosts MPICH 4.0's Reduce, within nodes and then between them, gives wrong
#: sums; its Allgatherv by a ring, and its Gather above 1 KiB, cut messages off or give wrong bytes.
RIGHT = {
    "OMPI_MCA_op": "^avx",
    "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
    "MPIR_CVAR_ALLGATHERV_INTRA_ALGORITHM": "brucks",
    "MPIR_CVAR_GATHER_VSMALL_MSG_SIZE": "1000000000",
}


def run_on_hosts(tester, key, hosts, place, words, sobor, limit=TIME_LIMIT) -> jobs.Result:
    """Run a program, the first of the words."""
    mpi = usable_mpi(key)
    if tester.bare_only:
        pytest.skip("only the bare MPI is asked for")
    command = [tester.program(mpi, words[0]), *words[1:]]
    settings = {"SOBOR_TRIALS": "off", **RIGHT, **sobor}
    return run_on(tester, mpi, hosts, settings, place, command, limit)


@pytest.mark.parametrize(("key", "place", "words", "cases"), CASES + LONG)
def test_cases(tester, hosts, long_run, key, place, words, cases):
    """Random calls on unequal hosts, and on communicators made of every third rank and the like."""
    if (key, place, words, cases) in LONG and not long_run:
        pytest.skip("only with SOBOR_TEST_LONG=1")

    def start(words, bare, timeout):
        sobor = {"SOBOR": "off"} if bare else {}
        return run_on_hosts(tester, key, hosts, place, words, sobor, timeout)

    for turn in range(2 if long_run else 1):
        drawn = {"seed": SEED + turn, "max_bytes": 100000, "timeout": TIME_LIMIT}
        result = run_drawn(tester, start, words.split(), cases, **drawn)
        tester.expect_pass(result, served=True)
        count = len(place.ranks)
        assert all(r.where == "cluster" and r.nodes == count for r in worlds(result)), result.tail()


#: Whose launchers do not tell who runs with Sobor: the user says so.
BY_WORD = [("o50", EVEN, "reductions"), ("i21", EVEN, "reductions"), ("i21", EVEN, "parts")]


@pytest.mark.parametrize(("key", "place", "name"), BY_WORD)
def test_by_word(tester, hosts, long_run, key, place, name):
    """Where SOBOR_CLUSTER=on stands in for a list, hosts are served too."""
    if not long_run and (key, name) == ("i21", "parts"):
        pytest.skip("only with SOBOR_TEST_LONG=1")
    only = ["--only", "Allreduce", "--op", "sum"] if name == "reductions" else []
    words = [name, "--seed", SEED, "--cases", 30, "--max-bytes", 20000, *only]
    result = run_on_hosts(tester, key, hosts, place, words, {"SOBOR_CLUSTER": "on"})
    tester.expect_pass(result, served=True)
    assert all(r.where == "cluster" and r.nodes == 2 for r in worlds(result)), result.tail()


#: Of mpi4py's suite, and of HPCC, what takes a second.
QUICK = ("-i", "test_cco_nb_buf", "-i", "test_cco_pr_buf")
SIZES = {False: 100, True: 600}


@pytest.mark.usefixtures("only_long")
@pytest.mark.parametrize("place", [Place((2, 2)), Place((2, 1, 1), dealt=True)])
def test_hpcc(tester, hosts, place):
    """HPCC finds nothing wrong over several hosts, and its calls are served."""
    program = need("hpcc")
    write_hpcc_input(tester.folder, sum(place.ranks), SIZES[True])
    sobor = None if tester.bare_only else {"SOBOR_TRIALS": "off"}
    result = run_on(tester, usable_mpi("o41"), hosts, sobor, place, [program], limit=300)
    assert result.returncode == 0 and not result.timed_out, result.tail()
    check_hpcc_output((tester.folder / "hpccoutf.txt").read_text())
    if sobor is not None:
        found = [r for r in result.reports if r.where == "cluster"]
        assert found and all(r.nodes == len(place.ranks) for r in found), result.tail()
        assert sum(r.bcast for r in found) > 0 and sum(r.barrier for r in found) > 0


@pytest.mark.parametrize("place", [Place((2, 1)), Place((2, 1, 2), dealt=True)])
def test_mpi4py(tester, hosts, long_run, place):
    """The collectives of mpi4py's own suite pass over several hosts; a part of them, if quick."""
    mpi = usable_mpi("o41")
    if not long_run and place.dealt:
        pytest.skip("only with SOBOR_TEST_LONG=1")
    if mpi.python is None:
        pytest.skip("o41 has no Python with mpi4py (.peers)")
    whole = long_run and not place.dealt
    command = suite_command(mpi, COLLECTIVES if whole else QUICK, () if whole else SHORTER)
    # As what C programs of the tests are linked with.
    settings = {
        "SOBOR_TRIALS": "off",
        "LD_PRELOAD": f"{PRELOAD}:{building.build_preload('resting')}",
    }
    result = run_on(tester, mpi, hosts, settings, place, command, limit=600)
    outcome = read_outcome(result)
    assert outcome.good, outcome.bad
    assert "where=cluster" in result.stderr, result.tail()


needs_slurm = pytest.mark.skipif(
    emulated_slurm.unavailable() is not None, reason=str(emulated_slurm.unavailable())
)


def run_by_slurm(tester, hosts, slurm, options, command, limit=TIME_LIMIT) -> jobs.Result:
    """Run a command by srun, with Sobor and Open MPI's own settings."""
    network = {"OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_btl_tcp_if_include": SUBNET}
    variables = {**network, "OMPI_MCA_pml": "ob1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    variables |= jobs.sobor_environment({"SOBOR_TRIALS": "off", "OMPI_MCA_op": "^avx"})
    given = [f"{name}={value}" for name, value in variables.items()]
    environment = {**jobs.base_environment(), **hosts.environment, **slurm.environment}
    line = ["srun", "--mpi=pmix", *options, "env", *given, *map(str, command)]
    quoted = " ".join(f"'{word}'" for word in line)
    return jobs.Job([str(AGENT), "node1", quoted], environment, tester.folder).wait(limit)


@needs_slurm
def test_slurm(tester, own_hosts, tmp_path):
    """Under srun all ranks are found to run with Sobor, however they are dealt."""
    mpi = usable_mpi("o41")
    words = ["reductions", "--only", "Allreduce", "--op", "sum", "--seed", SEED, "--cases", 20]
    command = [tester.program(mpi, words[0]), *words[1:]]
    with emulated_slurm.Slurm(own_hosts, tmp_path / "slurm") as slurm:
        for deal in ["-m", "block"], ["-m", "cyclic"], []:
            options = ["-N", "3", "-n", "6", *deal]
            result = run_by_slurm(tester, own_hosts, slurm, options, command)
            tester.expect_pass(result, served=True)
            assert all(r.where == "cluster" and r.nodes == 3 for r in worlds(result))


@needs_slurm
def test_slurm_programs(tester, own_hosts, tmp_path, long_run):
    """mpi4py's collectives and HPCC under srun, over two hosts and over three."""
    mpi, program = usable_mpi("o41"), need("hpcc")
    if mpi.python is None:
        pytest.skip("o41 has no Python with mpi4py (.peers)")
    which = COLLECTIVES if long_run else QUICK
    suite = suite_command(mpi, which, () if long_run else SHORTER)
    write_hpcc_input(tester.folder, 4, SIZES[long_run])
    with emulated_slurm.Slurm(own_hosts, tmp_path / "slurm") as slurm:
        for nodes in ("2", "3") if long_run else ("3",):
            options = ["-N", nodes, "-n", "4"]
            outcome = read_outcome(
                result := run_by_slurm(tester, own_hosts, slurm, options, suite, 600)
            )
            assert outcome.good, outcome.bad
            assert f"where=cluster nodes={nodes}" in result.stderr, result.tail()
            (tester.folder / "hpccoutf.txt").unlink(missing_ok=True)
            result = run_by_slurm(tester, own_hosts, slurm, options, [program], 300)
            assert result.returncode == 0 and not result.timed_out, result.tail()
            check_hpcc_output((tester.folder / "hpccoutf.txt").read_text())
            assert f"where=cluster nodes={nodes}" in result.stderr, result.tail()


#: Known prices: those that are measured on a busy machine may have the root serve two nodes.
PRICES = REPOSITORY / "share/sobor/machines/cluster-16x8.json"
#: Bytes that leave the busiest of N hosts, as shares of the message.
WIRE = [
    ("o41", Place((2, 2, 2)), "allreduce", 2 * (3 - 1) / 3),
    ("o41", Place((2, 2, 2), dealt=True), "allreduce", 2 * (3 - 1) / 3),
    ("o41", Place((2, 2, 2)), "bcast", 1),
    ("o41", Place((2, 2, 2), dealt=True), "bcast", 1),
    ("m40", Place((2, 1)), "bcast", 1),
    ("o41", Place((2, 1, 2)), "allgather", 1 - 1 / 5),
    ("o41", Place((2, 2, 2), dealt=True), "allgather", 1 - 2 / 6),
    ("o41", Place((2, 1, 2)), "reduce_scatter", 1 - 1 / 5),
    ("o41", Place((2, 2, 2), dealt=True), "reduce_scatter", 1 - 2 / 6),
]


@pytest.mark.parametrize(("key", "place", "operation", "share"), WIRE)
def test_wire(tester, hosts, key, place, operation, share):
    """No host sends more than the schedule says, however ranks are placed."""
    words = ["spanning", "wire", operation, 1 << 20, 20]
    result = run_on_hosts(tester, key, hosts, place, words, {"SOBOR_NETWORK": str(PRICES)})
    tester.expect_pass(result, served=True)
    found = float(result.stdout.split("share ")[1].split()[0])
    assert 0.98 * share <= found <= 1.05 * share, result.tail()


@pytest.mark.parametrize("place", [Place((2, 1, 2)), Place((2, 2), dealt=True)])
def test_frozen(tester, tmp_path, long_run, place):
    """A rank that stands still in any part of a call is waited for, and the result is right.

    On a slow network calls take so long that the parts inside and between hosts are all met.
    """
    words = ["spanning", "freeze", 2000 if long_run else 100, 4 if long_run else 2]
    settings = {"SOBOR_TRIALS": "off", "OMPI_MCA_op": "^avx"}
    mpi = usable_mpi("o41")
    if tester.bare_only:
        pytest.skip("only the bare MPI is asked for")
    with Hosts(3, tmp_path, "400mbit") as slow:
        command = [tester.program(mpi, words[0]), *words[1:]]
        result = run_on(tester, mpi, slow, settings, place, command, 300 if long_run else 60)
    tester.expect_pass(result, served=True)
    held, asked = map(int, re.search(r"held (\d+) of (\d+)", result.stdout).groups())
    assert held * 4 > asked, "hardly anything was frozen"


def shared_names(hosts: Hosts) -> dict[str, set[str]]:
    """What could be Sobor's in each host's own /dev/shm."""
    found = {}
    for name in hosts.names:
        holder = (hosts.folder / f"{name}.pid").read_text()
        listing = os.listdir(f"/proc/{holder}/root/dev/shm")
        found[name] = {x for x in listing if not aftermath.HOSTS_OWN.match(x)}
    return found


def ranks_on(job: jobs.Job, program: Path, hosts: Hosts) -> dict[str, list[int]]:
    """The job's ranks by their host."""
    spaces = {
        os.readlink(f"/proc/{(hosts.folder / f'{name}.pid').read_text()}/ns/uts"): name
        for name in hosts.names
    }
    found: dict[str, list[int]] = {}
    for pid in job.processes():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/exe").resolve() == program.resolve():
                found.setdefault(spaces[os.readlink(f"/proc/{pid}/ns/uts")], []).append(pid)
    return found


@pytest.mark.parametrize("segment", ["memfd", "named"])
@pytest.mark.parametrize("victim", ["node1", "node2"])
@pytest.mark.parametrize("key", ["o41", "m40"])
def test_killed(tester, hosts, long_run, key, victim, segment):
    """Where a rank is killed the job ends as without Sobor, and no host has anything left.

    In the short form on one host with each kind of memory.
    """
    if not long_run and (victim, segment) not in (("node1", "memfd"), ("node2", "named")):
        pytest.skip("only with SOBOR_TEST_LONG=1")
    mpi = usable_mpi(key)
    if tester.bare_only:
        pytest.skip("only the bare MPI is asked for")
    program = tester.program(mpi, "spanning")
    settings = {"SOBOR_TRIALS": "off", "SOBOR_SEGMENT": segment, "OMPI_MCA_op": "^avx"}
    job = start_on(tester, mpi, hosts, settings, EVEN, [program, "loop", 1000000])
    # All memory is made: who is killed while it has a name cannot remove that.
    assert aftermath.wait_until(lambda: "settled" in job.output(), TIME_LIMIT), job.errors()
    ranks = ranks_on(job, program, hosts)
    os.kill(ranks[victim][0], signal.SIGKILL)
    result = job.wait(30)
    assert not result.timed_out and result.returncode != 0, result.tail()
    assert aftermath.wait_until(lambda: not aftermath.Aftermath.running(), 20)
    assert not any(shared_names(hosts).values()), shared_names(hosts)


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_hang_is_found(tester, hosts, monkeypatch, key):
    """A job that stands still before its end fails, with what it has said until then."""
    mpi = usable_mpi(key)
    if tester.bare_only:
        pytest.skip("only the bare MPI is asked for")
    monkeypatch.setenv("SOBOR_TEST_STACKS", "off")  # why it hangs is known
    program = tester.program(mpi, "spanning")
    job = start_on(tester, mpi, hosts, {"SOBOR_TRIALS": "off"}, EVEN, [program, "loop", 1000000])
    assert aftermath.wait_until(lambda: "loops" in job.output(), TIME_LIMIT), job.errors()
    os.kill(ranks_on(job, program, hosts)["node2"][0], signal.SIGSTOP)
    result = job.wait(1)
    assert result.timed_out and "loops" in result.stdout
    with pytest.raises(AssertionError, match="timed out"):
        tester.expect_pass(result)


def test_little_memory(tester, hosts):
    """A host with too little memory falls apart into its ranks; the other is served as one node."""
    mpi = usable_mpi("o41")
    if tester.bare_only:
        pytest.skip("only the bare MPI is asked for")
    command = [AGENT.parent / "poor.sh", tester.program(mpi, "spanning"), "loop", 20]
    sobor = {"SOBOR_TRIALS": "off", "OMPI_MCA_op": "^avx"}
    result = run_on(tester, mpi, hosts, sobor, EVEN, command)
    tester.expect_pass(result, served=True)
    assert all(r.where == "cluster" and r.nodes == 3 for r in worlds(result)), result.tail()


def test_calls_count_on_all_hosts(tester, hosts):
    """Calls before the first that is served are counted alike where one host has less to count.

    Those that were wrong, at one rank alone, are not among them.
    """
    mpi = usable_mpi("o41")
    if tester.bare_only:
        pytest.skip("only the bare MPI is asked for")
    command = [AGENT.parent / "sooner.sh", tester.program(mpi, "first_use"), "counted"]
    settings = {"SOBOR_SERVE_AFTER": "20", "SOBOR_TRIALS": "off"}
    result = run_on(tester, mpi, hosts, settings, EVEN, command, 60)
    tester.expect_pass(result, served=True)
    assert any(r.bcast > 0 and "new" in r.reasons for r in result.reports), result.tail()


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_one_host_without(tester, hosts, key):
    """Where only one host's ranks are preloaded, these find out, and nobody waits."""
    mpi = usable_mpi(key)
    command = [AGENT.parent / "first.sh", PRELOAD, tester.program(mpi, "spanning"), "loop", 20]
    result = run_on(tester, mpi, hosts, None, EVEN, command)
    tester.expect_pass(result)
    assert any(r.where == "host" for r in worlds(result)), result.tail()
