# SPDX-License-Identifier: BSD-3-Clause
"""The C programs: on the bare MPI, with Sobor preloaded, and under every algorithm by force."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from aftermath import HOSTS_OWN
from jobs import AS_USERS, expect_new
from mpis import by_standard_abi

from conftest import need_bare, shows_bare, usable_mpi

#: Cases that share one process, and cases that end it in a way of their own.
TEARDOWN_CASES = (
    (
        "in-order",
        "in-reverse",
        "parents-first",
        "disconnect",
        "in-callback",
        "uneven",
        "any-receive",
        "cancelled-receive",
    ),
    ("never",),
    ("in-finalize",),
    ("root-leaves",),
    ("nothing-used",),
)
PROGRESS_CASES = (
    "barrier",
    "small-from-last",
    "small-from-one",
    "large-from-zero",
    "large-from-one",
)
ERROR_CASES = (
    "bad-root-high",
    "bad-root-low",
    "bad-root-proc-null",
    "bad-count",
    "null-type",
    "null-type-zero-count",
    "invalid-type",
    "invalid-op",
    "uncommitted-type",
    "null-comm-bcast",
    "null-comm-barrier",
    "in-place",
    "null-buffer",
    "null-buffer-vector",
    "null-buffer-pair",
    "bad-count-bad-root",
    "bad-root-zero-count",
    "right",
)
MOVING = (
    *("scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv"),
    *("alltoall", "alltoallv", "alltoallw"),
)
#: Wrong on every rank: what is wrong at the root alone leaves the others in a call that never ends.
PARTS_ERROR_CASES = (
    *(f"{name}-{wrong}" for name in MOVING for wrong in ("comm",)),
    *(f"{name}-{wrong}" for name in MOVING[:4] for wrong in ("root",)),
    *(
        f"{name}-{wrong}"
        for name in MOVING[:2]
        for wrong in ("count", "type", "uncommitted", "null")
    ),
    *(
        f"{name}-{wrong}"
        for name in MOVING[2:4]
        for wrong in ("send-count", "send-type", "send-null")
    ),
    *(
        f"{name}-{wrong}"
        for name in MOVING[4:]
        for wrong in (
            *("count", "type", "uncommitted", "in-place", "null"),
            *("send-count", "send-type", "send-null"),
        )
    ),
)
REDUCTIONS = (*("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"),)
#: A sum of MPI_WCHAR no host knows, one of MPI_BYTE some do: "wide" and "bytes".
WRONG_REDUCTIONS = (
    *("count", "type", "op", "replace", "comm", "undefined", "wide", "bytes", "derived", "right"),
)
REDUCTION_ERROR_CASES = (
    *(f"{name}-{wrong}" for name in REDUCTIONS for wrong in WRONG_REDUCTIONS),
    *(f"{name}-in-place" for name in REDUCTIONS[1:5]),
    "reduce-root",
)
#: The send buffer is the receive buffer: MPICH raises an error, Open MPI most often does what was
#: meant. In a rooted call the root alone is wrong: it must get the error without waiting for the
#: others.
ALIAS_CASES = (
    *(f"{name}-alias" for name in (*MOVING[4:], *REDUCTIONS[1:])),
    *(f"{name}-aliases" for name in REDUCTIONS[1:]),
)
ROOT_ALIAS_CASES = (
    *(f"{name}-alias" for name in (*MOVING[:4], REDUCTIONS[0])),
    f"{REDUCTIONS[0]}-aliases",
)
WRONG = {
    "moving": (*ERROR_CASES, *PARTS_ERROR_CASES),
    "reductions": REDUCTION_ERROR_CASES,
    "alias": (*ROOT_ALIAS_CASES, *ALIAS_CASES),
}
MPICH_CRASHES = {f"{name}-count" for name in REDUCTIONS}
MPICH_5_CRASHES = MPICH_CRASHES | {f"{name}-type" for name in REDUCTIONS}
OPEN_MPI_CRASHES = {
    *("allgather-comm", "scatter-uncommitted", "scatterv-uncommitted", "allgather-uncommitted"),
    *("allgatherv-uncommitted", "allgatherv-count", "invalid-op"),
}
NULL_BUFFERS = {
    *("null-buffer", "null-buffer-vector", "null-buffer-pair"),
    *(case for case in PARTS_ERROR_CASES if case.endswith("-null")),
}
#: What a library does not check, and crashes on by itself.
NOT_SURVIVED = {
    "o41": {*NULL_BUFFERS, *OPEN_MPI_CRASHES},
    "o50": {*NULL_BUFFERS, *OPEN_MPI_CRASHES},
    "m40": {"in-place", "null-type-zero-count", *MPICH_CRASHES},
    "m50": {"in-place", *MPICH_5_CRASHES},
    "i21": {"in-place"},
    "a50": {"in-place", "invalid-op", *MPICH_5_CRASHES},
}

#: What a library does not promise, and Sobor does: the root of a small gather of unequal parts of
#: Intel MPI leaves no rank before it has told it which algorithm to take.
WITH_SOBOR_ALONE = {"i21": {"early"}}

#: What runs under every MPI has in the short form one pair or the other of those that are not
#: Debian's, in turn. Each pair has MPICH 5; Debian's two are of the same families.
PAIRS = (("o50", "a50"), ("m50", "i21"))

#: Open MPI copies large messages in one go by default; without that their sender has to help.
COPY_IN_PARTS = {
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_btl_sm_single_copy_mechanism": "none",
    "OMPI_MCA_smsc": "^cma",
    "MPIR_CVAR_CH4_IPC_CMA_ENABLE": "0",
    "MPIR_CVAR_CH4_CMA_ENABLE": "0",
    # Not TCP, which UCX takes for long messages where it may not use the kernel's copies: MPICH 4.0
    # then hangs in MPI_Finalize now and then, with Sobor or without.
    "UCX_TLS": "self,posix,sysv",
}
COPIES = ["one-copy", "in-parts"]


@dataclass(frozen=True)
class Program:
    """A program with its arguments and the numbers of ranks worth running it on.

    MPICH's ranks never yield while they wait, so more of them than cores take milliseconds for
    each call that reaches MPICH itself: few programs are run that way.
    """

    words: tuple
    open_mpi: tuple = (2, 5)
    mpich: tuple = (2,)
    served_from: int = 2
    timeout: float = 60.0

    def ranks(self, mpi) -> tuple:
        """Numbers of ranks for this MPI; the wheel of Open MPI is slow to launch."""
        if mpi.key == "o50":
            return self.open_mpi[-1:]
        return self.open_mpi if mpi.open_mpi else self.mpich


def need_turn(key: str, long_run: bool, turn: int) -> None:
    """Leaves a test out in the short form where it is the other pair's turn."""
    if not long_run and key in PAIRS[(turn + 1) % len(PAIRS)]:
        pytest.skip("under two of the others; all with SOBOR_TEST_LONG=1")


PROGRAMS = [
    Program(("bcast_c",), open_mpi=(2, 3)),
    Program(("threads",), open_mpi=(2, 4)),
    Program(("rma",), open_mpi=(2, 3)),
    Program(("first_use",), open_mpi=(2,)),
    Program(("freed",), open_mpi=(2,)),
    Program(("io", "data.bin"), open_mpi=(3,)),
    Program(("fault", "work"), open_mpi=(4,)),
]
MANY_BARRIERS = Program(("barriers", "20000"), open_mpi=(2, 4))
#: Those that share a job with others on as many ranks: to begin one takes longer than some of them.
SHARING = [
    Program(("basics",), open_mpi=(1, 2, 3, 4, 5), mpich=(1, 2)),
    Program(("datatypes",), open_mpi=(2, 3, 5)),
    Program(("early",), open_mpi=(2, 4)),
    Program(("mixed",), open_mpi=(2, 4)),
    Program(("communicators",), open_mpi=(2, 3, 5), mpich=(2, 3)),
    MANY_BARRIERS,
    Program(("intercomm",), open_mpi=(2, 5), mpich=(2, 4), served_from=3),
]


def identify(value) -> str:
    """A readable name for a parameter."""
    return "-".join(value.words) if isinstance(value, Program) else str(value)


def every_program(test):
    """Parametrise a test over the table."""
    return pytest.mark.parametrize("program", PROGRAMS, ids=identify)(test)


@pytest.mark.parametrize(("key", "ranks"), [("o41", 2), ("o41", 5), ("m40", 2), ("a50", 2)])
def test_truncation(tester, key, ranks):
    """A rank that expects less than is sent is told, by its handler alone, and goes on."""
    result = tester.run(usable_mpi(key), ranks, ["truncate"], sobor={})
    tester.expect_pass(result, served=True)
    assert "disagree" not in result.stderr, result.tail()


@pytest.mark.parametrize(
    ("key", "ranks"), [("o41", 2), ("o41", 5), ("m40", 2), ("a50", 2), ("i21", 2)]
)
def test_more_room_than_is_sent(tester, key, ranks):
    """Ranks that give more room than is sent to them have what there is, as with the hosts."""
    mpi = usable_mpi(key)
    tester.expect_pass(tester.run(mpi, ranks, ["room"]))
    tester.expect_pass(tester.run(mpi, ranks, ["room"], sobor={}), served=True)


@pytest.mark.parametrize(("key", "ranks"), [("o41", 2), ("o41", 5), ("m40", 2), ("a50", 2)])
def test_unequal_broadcasts(tester, key, ranks):
    """Ranks that expect other sizes than the root's get what the host would give, or better."""
    mpi = usable_mpi(key)
    tester.expect_pass(tester.run(mpi, ranks, ["unequal", "exact"], sobor={}), served=True)
    if ranks == 2 and key in ("o41", "m40"):
        tester.expect_pass(tester.run(mpi, ranks, ["unequal"]))


@pytest.mark.parametrize(("key", "cma"), [("o41", "auto"), ("o41", "off"), ("m40", "auto")])
def test_in_place(tester, key, cma):
    """What an all-to-all in place sends is not lost to what it receives, and not copied first."""
    result = tester.run(usable_mpi(key), 2, ["in_place", "lean"], sobor={"SOBOR_CMA": cma})
    tester.expect_pass(result, served=True)


@pytest.mark.parametrize("key", ["o41", "m40", "a50"])
def test_far(tester, long_run, key):
    """Displacements beyond 2^31, also where the host has no function for them."""
    for words in (["far"], ["far", "large"]) if long_run else (["far"],):
        tester.expect_pass(tester.run(usable_mpi(key), 2, words, sobor={}), served=True)


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_far_by_extent(tester, key):
    """Blocks beyond 4 GiB by their type's extent alone, equal ones and counted ones."""
    mpi = usable_mpi(key)
    if mpi.open_mpi:  # MPICH 4.0 itself gets its allgather wrong there
        tester.expect_pass(tester.run(mpi, 2, ["far_equal"]))
    tester.expect_pass(tester.run(mpi, 2, ["far_equal"], sobor={}), served=True)


@pytest.mark.mpis("o41")
def test_sent_before_a_barrier(tester):
    """What was sent before a barrier is there after it, for a program that asks once."""
    mpi = usable_mpi("o41")
    tester.expect_pass(tester.run(mpi, 2, ["sent_before"]))
    tester.expect_pass(tester.run(mpi, 2, ["sent_before"], sobor={}), served=True)


#: Waits, and whether rank 0 of `windows` sleeps.
SLEEPS = [("yield", "counted"), ("sleep", "always")]


def after_errors(result) -> list[str]:
    """What each rank finds in its handle after a window could not be made."""
    return re.findall("^left=.*", result.stdout, re.MULTILINE)


@pytest.mark.parametrize(("wait", "expected"), SLEEPS)
def test_who_has_windows_stays_awake(tester, long_run, mpi, wait, expected):
    """Others send it one-sided requests at any time; only where sleep is asked for, it sleeps."""
    need_turn(mpi.key, long_run, SLEEPS.index((wait, expected)))
    bare = tester.run(mpi, 2, ["windows", "any"]) if expected == "counted" else None
    if bare is not None:
        tester.expect_pass(bare)
    if tester.bare_only:
        return
    result = tester.run(mpi, 2, ["windows", expected], sobor={"SOBOR_WAIT": wait})
    tester.expect_pass(result, served=True)
    if bare is not None:
        assert after_errors(result) == after_errors(bare), result.tail()
        assert mpi.key != "o41" or after_errors(bare) == 2 * ["left=null"], bare.tail()


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_windows_of_several_threads(tester, key):
    """Their number is right afterwards."""
    words = ["windows", "counted", "threads"]
    result = tester.run(usable_mpi(key), 2, words, sobor={"SOBOR_WAIT": "yield"})
    tester.expect_pass(result)


@every_program
def test_bare(tester, mpi, long_run, program):
    """The test itself is right: the host MPI passes it alone."""
    need_bare(tester, mpi.key, long_run)
    ranks, words = program.ranks(mpi)[-1], list(program.words)
    tester.expect_pass(tester.run(mpi, ranks, words, timeout=program.timeout))


@every_program
def test_preloaded(tester, mpi, long_run, program):
    """The same program with Sobor, which must have served calls."""
    need_turn(mpi.key, long_run, PROGRAMS.index(program))
    wanted = [(ranks, list(program.words), {}) for ranks in program.ranks(mpi)]
    for result in tester.run_all(mpi, wanted, timeout=program.timeout):
        tester.expect_pass(result, served=True)


def run_row(tester, mpi, ranks, programs, sobor, **settings):
    """Run programs one after the other in one job; each must pass, and be served if at once."""
    words = [word for program in programs for word in ("+", *program.words)]
    timeout = sum(program.timeout for program in programs)
    result = tester.run(mpi, ranks, ["row", *words[1:]], sobor=sobor, timeout=timeout, **settings)
    tester.expect_pass(result, served=sobor is not None and sobor != AS_USERS)
    passed = re.findall(r"^PASS (\w+)$", result.stdout, re.MULTILINE)
    assert passed == [*(p.words[0] for p in programs), "row"], result.tail()
    return result


def rows(programs, ranks_of) -> dict[int, list[Program]]:
    """By number of ranks the programs that run on so many."""
    found: dict[int, list[Program]] = {}
    for program in programs:
        for ranks in ranks_of(program):
            found.setdefault(ranks, []).append(program)
    return found


#: In the short form.
AS_USERS_RANKS = {"o41": 3, "m40": 2}
#: The host's barriers, which may take ten times as long, show with a tenth that the test is right.
FEWER = Program(("barriers", "2000"), open_mpi=(2, 4))


def test_bare_in_rows(tester, mpi, long_run):
    """The host alone passes those that share jobs, but for what it does not promise."""
    need_bare(tester, mpi.key, long_run)
    sharing = SHARING if long_run else [FEWER if p == MANY_BARRIERS else p for p in SHARING]
    promised = [p for p in sharing if p.words[0] not in WITH_SOBOR_ALONE.get(mpi.key, ())]
    for ranks, row in rows(promised, lambda p: p.ranks(mpi)[-1:]).items():
        run_row(tester, mpi, ranks, row, None)


def test_preloaded_in_rows(tester, mpi):
    """The same with Sobor; what it has nothing to serve in is run alone."""
    for ranks, row in rows(SHARING, lambda p: p.ranks(mpi)).items():
        for program in row:
            if ranks < program.served_from:
                result = tester.run(mpi, ranks, list(program.words), sobor={})
                tester.expect_pass(result)
        if served := [program for program in row if ranks >= program.served_from]:
            run_row(tester, mpi, ranks, served, {})


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_as_users_have_it(tester, long_run, key):
    """Communicators are the host's until they were called often, and then go over to Sobor."""
    mpi = usable_mpi(key)
    results = []
    for ranks, row in rows(SHARING, lambda p: p.ranks(mpi)).items():
        served = [program for program in row if ranks >= program.served_from]
        if served and (long_run or ranks == AS_USERS_RANKS[key]):
            results.append(run_row(tester, mpi, ranks, served, AS_USERS))
            expect_new(results[-1])
    assert any(result.served > 0 for result in results), results[-1].tail()


@pytest.mark.mpis("o41")
def test_eight_ranks(tester):
    """Far more ranks than cores."""
    result = tester.run(usable_mpi("o41"), 8, ["basics", "70000"], sobor={})
    tester.expect_pass(result, served=True)


@pytest.mark.host_spins
@pytest.mark.mpis("m40")
def test_mpich_with_more_ranks_than_cores(tester):
    """The worst host for waiting: what Sobor serves must not wait the host's way."""
    result = tester.run(usable_mpi("m40"), 4, ["basics", "70000"], sobor={}, timeout=120)
    tester.expect_pass(result, served=True)


@pytest.mark.host_spins
@pytest.mark.mpis("m50")
@pytest.mark.parametrize("words", [["basics", "5000"], ["mixed"]], ids=lambda words: words[0])
def test_mpich_by_shared_memory(tester, words):
    """MPICH 5 as users have it: its own collectives go by shared memory, in most tests not."""
    mpi = usable_mpi("m50")
    tester.expect_pass(tester.run(mpi, 2, words))
    tester.expect_pass(tester.run(mpi, 2, words, sobor={}), served=True)


@pytest.mark.mpis("o41", "o50")
def test_binary_of_another_version(tester):
    """A program built with Open MPI 4.1 runs on Open MPI 5, Sobor with it."""
    older, newer = usable_mpi("o41"), usable_mpi("o50")
    program = tester.program(older, "basics")
    result = tester.run_command(
        newer, 3, [program], sobor={}, environment={"LD_LIBRARY_PATH": str(newer.library.parent)}
    )
    tester.expect_pass(result, served=True)


FORCED = [
    Program(("basics", "300000"), open_mpi=(2, 5)),
    Program(("communicators",), open_mpi=(5,)),
    Program(("datatypes",), open_mpi=(2,)),
    Program(("early",), open_mpi=(5,)),
    Program(("unequal", "exact"), open_mpi=(2, 5)),
]
#: Of those, what the forced barriers are looked for in too.
WITH_BARRIERS = ("basics", "communicators")


def looked_at(program, forced) -> set[str]:
    """Of the collectives that are forced, those of which the program calls enough."""
    return {c for c in forced if c == "bcast" or program.words[0] in WITH_BARRIERS}


def is_forced(result, collective, name) -> bool:
    """No other algorithm of the collective ran, but where there are no groups, which is said."""
    prefix = f"{collective}:"
    ran = {call for call in result.algorithm_calls() if call.startswith(prefix)}
    if name.startswith("hierarchical-") and f"{name} cannot serve" in result.stderr:
        assert not any(
            other.startswith(f"{prefix}hierarchical-") for other in ran - {prefix + name}
        )
        return False
    assert ran == {prefix + name}, f"{name} forced\n{result.tail()}"
    return True


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_every_algorithm(tester, query, long_run, key):
    """Each algorithm of sobor-query's table is forced in turn, and is the only one that runs.

    Each job forces one of both collectives while there are some, and then of the one that has more.
    Those are barriers, which test_differential.py forces too: here they run in the long form.
    """
    mpi = usable_mpi(key)
    table = query("algorithms")
    names = {c: [a["name"] for a in table if a["collective"] == c] for c in ("barrier", "bcast")}
    assert min(map(len, names.values())) >= 2, names
    counts = list(map(len, names.values()))
    for turn in range(max(counts) if long_run else min(counts)):
        forced = {c: of_one[turn] for c, of_one in names.items() if turn < len(of_one)}
        sobor = {f"SOBOR_{c.upper()}_ALGORITHM": name for c, name in forced.items()}
        # The most ranks come first: where those make no groups, fewer make none either, and what
        # runs then has its own turn.
        for ranks in sorted({n for p in FORCED for n in p.ranks(mpi)}, reverse=True):
            row = [p for p in FORCED if ranks in p.ranks(mpi) and looked_at(p, forced)]
            if not row:
                continue
            result = run_row(tester, mpi, ranks, row, sobor)
            for collective in set().union(*(looked_at(p, forced) for p in row)):
                if not is_forced(result, collective, forced[collective]):
                    del forced[collective]


@pytest.mark.parametrize("collective", ["barrier", "bcast"])
@pytest.mark.parametrize("key", ["o41", "m40"])
def test_host_algorithm(tester, key, collective):
    """Either collective can be left to the host, and the report says so."""
    setting = {f"SOBOR_{collective.upper()}_ALGORITHM": "host"}
    result = tester.run(usable_mpi(key), 2, ["basics", "5000"], sobor=setting)
    tester.expect_pass(result, served=True)
    assert all(getattr(r, collective) == 0 for r in result.reports), result.tail()
    assert any("algorithm-host" in r.reasons for r in result.reports), result.tail()


@pytest.mark.parametrize(
    "setting",
    [
        {"SOBOR": "off"},
        {"SOBOR_COLLECTIVES": "none"},
        {"SOBOR_COLLECTIVES": "barrier"},
        {"SOBOR_COLLECTIVES": "bcast"},
        {"SOBOR_SEGMENT": "named"},
        {"SOBOR_SEGMENT": "memfd"},
        {"SOBOR_SEGMENT": "off"},
        {"SOBOR_RING": "16KiB"},
        {"SOBOR_RING": "16KiB", "SOBOR_BCAST_ALGORITHM": "ring"},
        {"SOBOR_WAIT": "spin"},
        {"SOBOR_WAIT": "yield"},
        {"SOBOR_WAIT": "sleep"},
        {"SOBOR_LIVENESS": "10"},
    ],
    ids=lambda s: " ".join(f"{k}={v}" for k, v in s.items()),
)
@pytest.mark.parametrize("key", ["o41", "m40"])
def test_settings(tester, long_run, key, setting):
    """Results are right under every setting, and a collective that is off is not served.

    In the short form the second host has those alone that leave it calls.
    """
    if not long_run and key == "m40" and not {"SOBOR", "SOBOR_COLLECTIVES"} & setting.keys():
        pytest.skip("only with SOBOR_TEST_LONG=1")
    words = ["basics"] if long_run else ["basics", "1048583"]
    result = tester.run(usable_mpi(key), 2 if key == "m40" else 3, words, sobor=setting)
    tester.expect_pass(result)
    served = setting.get("SOBOR_COLLECTIVES", "barrier,bcast")
    off = setting.get("SOBOR") == "off" or setting.get("SOBOR_SEGMENT") == "off"
    for collective in ("barrier", "bcast"):
        calls = sum(getattr(r, collective) for r in result.reports)
        expected = collective in served and not off
        assert (calls > 0) == expected, f"{collective}: {calls} calls served\n{result.tail()}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SOBOR_RING", "abc"),
        ("SOBOR_BCAST_ALGORITHM", "slot"),
        ("SOBOR_TREE_ARITY", "4294967296"),
        ("SOBOR_FRAGMENT", "18446744073709551615"),
        ("SOBOR_RINGS", "1MiB"),
    ],
)
@pytest.mark.parametrize("key", ["o41", "m40"])
def test_wrong_setting(tester, long_run, key, name, value):
    """A wrong name or value is told once, with what was expected, and the program goes on."""
    if not long_run and key == "m40" and name != "SOBOR_RING":
        pytest.skip("only with SOBOR_TEST_LONG=1")
    sobor = {"SOBOR_BARRIER_ALGORITHM": "counter", name: value}
    result = tester.run(usable_mpi(key), 2, ["basics", "1000"], sobor=sobor)
    tester.expect_pass(result, served=True)
    lines = [x for x in result.stderr.splitlines() if name in x]
    assert len(lines) == 1, result.tail()
    assert "expected" in lines[0] and (f'"{value}"' in lines[0] or name == "SOBOR_RINGS"), lines[0]


def test_uneven_nothing(tester, long_run, mpi):
    """No elements on one rank, empty elements on another: legal, and served alike."""
    need_turn(mpi.key, long_run, 0)
    result = tester.run(mpi, 2, ["datatypes", "uneven"], sobor={})
    tester.expect_pass(result, served=True)


@pytest.mark.parametrize("cases", TEARDOWN_CASES, ids=lambda cases: cases[0])
def test_teardown(tester, long_run, mpi, cases):
    """Communicators and processes end in every order, bare and with Sobor."""
    need_turn(mpi.key, long_run, TEARDOWN_CASES.index(cases))
    ranks = 3 if mpi.open_mpi else 2
    if shows_bare(tester, mpi.key, long_run):
        tester.expect_pass(tester.run(mpi, ranks, ["teardown", *cases]))
    if tester.bare_only:
        return
    result = tester.run(mpi, ranks, ["teardown", *cases], sobor={})
    tester.expect_pass(result, served="nothing-used" not in cases)
    if "in-finalize" in cases:
        assert "callback in finalize" in result.stdout, result.tail()


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_teardown_as_users_have_it(tester, long_run, key):
    """The same of communicators that are still the host's when they end."""
    mpi = usable_mpi(key)
    for cases in TEARDOWN_CASES if long_run else TEARDOWN_CASES[:1]:
        result = tester.run(mpi, 3 if mpi.open_mpi else 2, ["teardown", *cases], sobor=AS_USERS)
        tester.expect_pass(result, served=cases[0] == "root-leaves")
        if cases[0] not in ("root-leaves", "nothing-used"):
            expect_new(result)


@pytest.mark.host_spins
@pytest.mark.parametrize("copy", COPIES)
def test_progress(tester, long_run, mpi, copy):
    """A rank in a collective serves the messages that its peers wait for."""
    need_turn(mpi.key, long_run, COPIES.index(copy))
    environment = COPY_IN_PARTS if copy == "in-parts" else {}
    words = ["progress", "64" if long_run else "4", *PROGRESS_CASES]
    if shows_bare(tester, mpi.key, long_run):
        tester.expect_pass(tester.run(mpi, 2, words, environment=environment))
    if tester.bare_only:
        return
    tester.expect_pass(tester.run(mpi, 2, words, sobor={}, environment=environment), served=True)


@pytest.mark.host_spins
@pytest.mark.parametrize("policy", ["spin", "yield", "sleep"])
@pytest.mark.parametrize("key", ["o41", "m40"])
def test_progress_under_each_policy(tester, key, policy):
    """However a rank waits, it serves messages meanwhile."""
    result = tester.run(
        usable_mpi(key),
        2,
        ["progress", "4", *PROGRESS_CASES],
        sobor={"SOBOR_WAIT": policy},
        environment=COPY_IN_PARTS,
    )
    tester.expect_pass(result, served=True)


def error_classes(result) -> list[str]:
    """What each rank got for each case."""
    return sorted(re.findall(r"case \S+ rank \d+ class \d+", result.stdout))


@pytest.mark.parametrize("kind", list(WRONG))
def test_errors(tester, long_run, mpi, kind):
    """Each wrong argument raises the class that the host raises, and the communicator lives on.

    Not all in one job: a launcher that passes on much output at once cuts its lines.
    """
    if mpi.key != "a50":  # which alone has the standard ABI's constants
        need_turn(mpi.key, long_run, list(WRONG).index(kind))
    unchecked = {*NOT_SURVIVED[mpi.key], *(ROOT_ALIAS_CASES if mpi.open_mpi else ())}
    cases = [case for case in WRONG[kind] if case not in unchecked]
    bare = tester.run(mpi, 2, ["errors", *cases])
    tester.expect_pass(bare)
    assert len(error_classes(bare)) == 2 * len(cases), bare.tail()
    if tester.bare_only:
        return
    result = tester.run(mpi, 2, ["errors", *cases], sobor={})
    tester.expect_pass(result, served=True)
    assert error_classes(result) == error_classes(bare), result.tail()


def test_other_constants(tester):
    """Intel's library of the standard ABI has other numbers for error handlers than MPICH's header,
    of which the back end is made: what is asked of the host still ends no job."""
    mpi = by_standard_abi(usable_mpi("i21"))
    words = ["errors", "uncommitted-type", "null-type-zero-count", "right"]
    bare = tester.run(mpi, 2, words)
    tester.expect_pass(bare)
    result = tester.run(mpi, 2, words, sobor={})
    tester.expect_pass(result, served=True)
    assert error_classes(result) == error_classes(bare), result.tail()


def test_error_handlers(tester, long_run, mpi):
    """The user's error handler runs as under the host alone."""
    need_turn(mpi.key, long_run, 1)
    bare = tester.run(mpi, 2, ["handlers"])
    tester.expect_pass(bare)
    if tester.bare_only:
        return
    result = tester.run(mpi, 2, ["handlers"], sobor={})
    tester.expect_pass(result, served=True)
    returned = re.compile(r"rank \d+ returned [a-z ]+")
    assert sorted(returned.findall(result.stdout)) == sorted(returned.findall(bare.stdout))


def remove_segments(folder: Path) -> None:
    """Remove what the hosts of a job that was ended have left of all that its ranks had mapped."""
    for noted in folder.glob("segments.*"):
        for path in map(Path, noted.read_text().splitlines()):
            if HOSTS_OWN.match(path.name):
                path.unlink(missing_ok=True)
        noted.unlink()


def test_fatal_error(tester, long_run, mpi):
    """The default error handler ends the job. MPICH 5 leaves its segment then."""
    need_turn(mpi.key, long_run, 0)
    for sobor in (None,) if tester.bare_only else (None, {}):
        result = tester.run(mpi, 2, ["handlers", "fatal"], sobor=sobor)
        remove_segments(tester.folder)
        assert not result.timed_out and result.returncode != 0, result.tail()
        assert "still alive" not in result.stdout, result.tail()


@pytest.mark.parametrize("key", ["m40", "m50", "i21"])
@pytest.mark.parametrize("what", ["alltoallw", "alltoallw-zero"])
def test_null_types(tester, key, what):
    """Ranks with a type that is none for blocks of nothing, and ranks without, have one call."""
    mpi = usable_mpi(key)
    tester.expect_pass(tester.run(mpi, 3, ["null_types", what]))
    result = tester.run(mpi, 3, ["null_types", what], sobor={})
    tester.expect_pass(result, served=True)
    assert any(name.startswith("alltoallw:") for name in result.algorithm_calls()), result.tail()


@pytest.mark.parametrize("key", ["m40", "m50", "i21"])
@pytest.mark.parametrize("what", ["null", "uncommitted", "in-place"])
def test_broadcasts_of_nothing(tester, key, what):
    """A rank with a type or a buffer of no use that the host lets pass counts calls as others."""
    if (key, what) == ("m40", "null"):
        pytest.skip("MPICH 4.0 crashes")
    mpi = usable_mpi(key)
    tester.expect_pass(tester.run(mpi, 3, ["null_types", what]))
    for after in "1", "100":
        result = tester.run(mpi, 3, ["null_types", what], sobor={"SOBOR_SERVE_AFTER": after})
        tester.expect_pass(result, served=True)


@pytest.mark.parametrize("what", ["threads", "equal", "engines"])
@pytest.mark.mpis("m50")
def test_beyond_mpi(tester, what):
    """What MPICH has beyond MPI works as on the host alone: communicators of threads are its own,
    and so is an operation that is no function of elements; several engines all turn."""
    mpi = usable_mpi("m50")
    engines = {"MPIR_CVAR_CH4_NUM_VCIS": "4", "MPIR_CVAR_CH4_GLOBAL_PROGRESS": "0"}
    environment = engines if what == "engines" else {}
    tester.expect_pass(tester.run(mpi, 2, ["extensions", what], environment=environment))
    result = tester.run(mpi, 2, ["extensions", what], sobor={}, environment=environment)
    tester.expect_pass(result, served=True)


@pytest.mark.parametrize("key", ["o41", "o50", "m50"])
def test_spawn(tester, key):
    """Spawned processes, whether or not the launcher hands them the preload, and all merged.

    Debian's MPICH 4.0 cannot spawn at all, nor can Intel MPI without libfabric.
    """
    mpi = usable_mpi(key)
    tester.expect_pass(tester.run(mpi, 2, ["spawn"]))
    if tester.bare_only:
        return
    result = tester.run(mpi, 2, ["spawn"], sobor={})
    tester.expect_pass(result, served=True)
    assert "preload parent=1" in result.stdout, result.tail()


@pytest.mark.parametrize(
    ("key", "case"),
    [
        ("m40", "alone"),
        ("m40", "left"),
        ("m40", "wrong"),
        ("m40", "beside"),
        ("o50", "alone"),
        ("o50", "left"),
        ("o50", "wrong"),
        ("o50", "beside"),
        ("m50", "alone"),
        ("m50", "left"),
        ("m50", "wrong"),
        ("m50", "twice"),
        ("m50", "beside"),
        ("i21", "beside"),
        ("a50", "twice"),
    ],
)
def test_sessions(tester, key, case):
    """Communicators from sessions: served beside MPI_Init, by the host without it; also one that
    is left to the session's end, and one whose first calls are wrong.

    A second session after the first crashes m40 and o50 alone.
    """
    mpi = usable_mpi(key)

    def run(**how):
        """MPICH 5's second session fails or hangs now and then, alone too: then once more."""
        own = re.compile("failed to unpack address|Fatal error in internal_Comm_create_from_group")
        for _ in range(3):
            result = tester.run(mpi, 2, ["sessions", case], timeout=20, **how)
            if not result.timed_out and not own.search(result.stdout + result.stderr):
                break
        return result

    bare = run()
    if case == "twice" and bare.timed_out:
        pytest.skip("the host's second session hangs without Sobor too, three times in a row")
    tester.expect_pass(bare)
    if tester.bare_only:
        return
    result = run(sobor={})
    tester.expect_pass(result, served=case == "beside")
    if case != "beside":
        assert result.served == 0, result.tail()
        assert {r for report in result.reports for r in report.reasons} == {"absent-ranks"}
        assert result.reports[0].name == "first", result.tail()


@pytest.mark.mpis("o41")
def test_io_by_romio(tester):
    """ROMIO calls PMPI functions that Sobor exports too; ompio does not."""
    result = tester.run(
        usable_mpi("o41"), 3, ["io", "data.bin"], sobor={}, options=("--mca", "io", "romio321")
    )
    tester.expect_pass(result, served=True)


@pytest.mark.parametrize("options", [(), ("--mca", "io", "romio321")], ids=["default", "romio"])
@pytest.mark.parametrize("key", ["o41", "m40", "o50", "m50", "i21", "a50"])
def test_report_counts(tester, key, options):
    """The user's calls are counted exactly, those of the library itself not at all."""
    if options and key != "o41":
        pytest.skip("ROMIO is the only choice, or not there")
    result = tester.run(usable_mpi(key), 2, ["counting", "data.bin"], sobor={}, options=options)
    tester.expect_pass(result)
    by_name = {r.name: r for r in result.reports}
    world, copy = by_name.get("MPI_COMM_WORLD"), by_name.get("the_copy")
    assert world is not None and copy is not None, result.tail()
    assert (world.barrier, world.bcast, world.bytes, world.host) == (11, 7, 7000, 0), result.tail()
    assert (copy.barrier, copy.bcast, copy.bytes, copy.host) == (5, 3, 3000, 0), result.tail()
    assert world.where == copy.where == "shm"
    assert world.reasons == copy.reasons == []
