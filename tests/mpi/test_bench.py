# SPDX-License-Identifier: BSD-3-Clause
"""The bench program: its output, its own check of the data, and its answers to wrong options."""

from __future__ import annotations

import json
import os
import statistics
import subprocess

import building
import jobs
import pytest
from mpis import BUILD

from conftest import need_debian, usable_mpi

BENCH = BUILD / "bin" / "sobor-bench"
FIELDS = {
    "collective",
    "ranks",
    "bytes",
    "variant",
    "algorithm",
    "host",
    "host_us",
    "sobor_us",
    "ratio",
    "calls",
    "checked",
}
RANGE = ("--range", "4M")
#: Long enough for what is timed to be looked at; for the rest that a row is made.
TIMED, QUICK = ("--seconds", "0.01", *RANGE), ("--seconds", "0.004", *RANGE)


def bench(tester, mpi, ranks, *options, sobor=None):
    """Run the bench on one MPI."""
    assert BENCH.exists(), f"{BENCH} is not built"
    command = [BENCH, "--abi", mpi.backend, "--libmpi", mpi.library, *QUICK, *options]
    return tester.run_command(mpi, ranks, command, sobor=sobor)


def rows(result) -> list[dict]:
    """The objects on standard output."""
    assert result.returncode == 0 and not result.timed_out, result.tail()
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("key", ["o41", "m40", "o50", "m50", "i21", "a50"])
def test_host_only(tester, long_run, key):
    """The host alone: one object for each point, in the order asked for."""
    need_debian(key, long_run)
    result = bench(tester, usable_mpi(key), 2, "--host-only", "--sizes", "8,64K")
    found = rows(result)
    points = [(r["collective"], r["bytes"], r["variant"]) for r in found]
    assert points == [
        ("barrier", 0, "hot"),
        ("bcast", 8, "hot"),
        ("bcast", 8, "cold"),
        ("bcast", 65536, "hot"),
        ("bcast", 65536, "cold"),
    ]
    for row in found:
        assert set(row) >= FIELDS
        assert row["ranks"] == 2 and row["checked"] is True and row["calls"] >= 5
        assert row["host_us"] > 0 and row["sobor_us"] is None and row["ratio"] is None
        assert row["host_us_p10"] <= row["host_us"] <= row["host_us_p90"]


@pytest.mark.parametrize("key", ["o41", "m40", "o50", "m50", "i21", "a50"])
def test_both_sides(tester, long_run, key):
    """Host and Sobor in one job, and which algorithm Sobor took."""
    need_debian(key, long_run, "a50")
    result = bench(
        tester,
        usable_mpi(key),
        2,
        "--variants",
        "hot,cold,chain",
        "--sizes",
        "8,4K,64K,1M",
        sobor={},
    )
    found = rows(result)
    assert len(found) == 1 + 4 * 3
    for row in found:
        assert row["checked"] is True, row
        assert row["sobor_us"] > 0 and row["host_us"] > 0 and row["algorithm"]
        assert row["ratio"] == pytest.approx(row["host_us"] / row["sobor_us"], rel=1e-3)
    assert result.served > 0, result.tail()


def one_processor() -> list[str]:
    """The start of a command that runs on one processor of those that there are."""
    return ["taskset", "-c", str(min(os.sched_getaffinity(0)))]


def test_switches(tester):
    """On one processor every rank but the last to come is switched out in each barrier."""
    mpi, ranks = usable_mpi("o41"), 4
    command = [BENCH, "--abi", mpi.backend, "--libmpi", mpi.library, *QUICK]
    command = [*one_processor(), *command, "--collectives", "barrier", "--seconds", "0.1"]
    (row,) = rows(tester.run_command(mpi, ranks, command, sobor={}))
    least = 0.999 * (1 - 1 / ranks)
    for side in ("host", "sobor"):
        assert least <= row[f"{side}_switches"] < 1000, row
        assert 0 <= row[f"{side}_sleeps"] <= row[f"{side}_switches"], row
        assert row[f"{side}_switches_p10"] <= row[f"{side}_switches_p90"], row
    assert row["line_us"] is None
    assert (row["nodes"], row["processors"], row["oversubscribed"]) == (1, 1, True), row


def test_ranks_share_processors_as_sobor_says(tester):
    """Its rules go by what its own team found, and bindings are not all of that."""
    mpi = usable_mpi("o41")
    command = [BENCH, "--abi", mpi.backend, "--libmpi", mpi.library, *QUICK]
    command += ["--collectives", "barrier"]
    processors = len(os.sched_getaffinity(0))
    for ranks in (2, processors + 1):
        named = ["env", f"OMPI_COMM_WORLD_LOCAL_SIZE={ranks}", *command]
        (row,) = rows(tester.run_command(mpi, 2, named, sobor={}))
        assert row["oversubscribed"] is (ranks > processors), row
    (row,) = rows(tester.run_command(mpi, 2, [*named, "--host-only"]))
    assert row["oversubscribed"] is (processors < 2), row


def test_line(tester):
    """A cache line is sent to and fro beside the calls, however they are timed."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two processors")
    both, alone = (
        rows(bench(tester, usable_mpi("o41"), 2, "--collectives", "barrier", *words, sobor=sobor))
        for words, sobor in (((), {}), (("--host-only",), None))
    )
    for (row,) in (both, alone):
        assert 0 < row["line_us_p10"] <= row["line_us"] <= row["line_us_p90"], row
        assert row["host_switches"] is not None
    assert alone[0]["sobor_switches"] is None
    options = ("--collectives", "bcast", "--sizes", "8", "--method", ",".join(METHODS))
    for row in rows(bench(tester, usable_mpi("o41"), 4, *options, sobor={})):
        assert 0 < row["line_us_p10"] <= row["line_us"], row


PARTS = "scatter,scatterv,gather,gatherv,allgather,allgatherv,alltoall,alltoallv,alltoallw"


@pytest.mark.parametrize(
    ("key", "ranks", "counts"),
    [
        *(("o41", 3, counts) for counts in ("equal", "linear", "heavy", "random", "half-zero")),
        ("m40", 2, "heavy"),
        ("a50", 2, "random"),
    ],
)
def test_parts(tester, key, ranks, counts):
    """What moves parts of data, by every pattern of counts; the data is right on both sides."""
    options = ("--collectives", PARTS, "--counts", counts, "--sizes", "5000", "--root", "1")
    found = rows(bench(tester, usable_mpi(key), ranks, *options, sobor={}))
    assert len(found) == 9 * 2
    for row in found:
        assert row["checked"] is True and row["algorithm"] and row["sobor_us"] > 0, row
        varies = row["collective"][-1] in "vw"
        assert row.get("counts") == (counts if varies else None), row


REDUCTIONS = "reduce,allreduce,reduce_scatter,reduce_scatter_block,scan,exscan"


@pytest.mark.parametrize(("key", "ranks"), [("o41", 3), ("m40", 2), ("a50", 2)])
def test_reductions(tester, key, ranks):
    """Sums of double, float and bytes; the data is right on both sides."""
    options = ("--collectives", REDUCTIONS, "--sizes", "8,4100,5001", "--root", "rotate")
    found = rows(bench(tester, usable_mpi(key), ranks, *options, sobor={}))
    assert len(found) == 6 * 3 * 2
    for row in found:
        assert row["checked"] is True and row["algorithm"] and row["sobor_us"] > 0, row


def test_late_ranks(tester):
    """Who is there waits for the root, on average a sixth of the width."""
    words = ("--collectives", "bcast", "--sizes", "8", "--variants", "hot", "--method", "single")
    words += ("--sync", "common", "--arrival", "0.002", "--seconds", "0.2")
    for _ in range(3):  # on a busy machine all may be late
        (row,) = rows(bench(tester, usable_mpi("o41"), 2, *words, sobor={}))
        assert row["arrival_us"] == 2000 and row["late_by"] in {"computing", "sleeping"}
        assert row["host_max_us"] >= row["host_us"]
        if min(row["host_us"], row["sobor_us"]) > 20:
            break
    else:
        pytest.fail(f"nobody waits: {row}")
    (even,) = rows(bench(tester, usable_mpi("o41"), 2, *words[:-4], sobor={}))
    assert "arrival_us" not in even


def test_buffers_are_of_malloc(tester):
    """With the heap, calls and the limit's loops find the buffers in memory that is shared.

    What the loops give is right, in whichever form, or the row's is not.
    """
    names = "bcast,gather,scatter,allgather,alltoall,reduce,allreduce"
    words = ("--collectives", names, "--sizes", "8,64K", "--variants", "hot", "--limits")
    words += ("--seconds", "0.001")  # a row has several times the figures of others
    for sobor in (jobs.HEAP, {}):
        found = rows(bench(tester, usable_mpi("o41"), 2, *words, sobor=sobor))
        assert [row["collective"] for row in found[::2]] == names.split(",")
        for row in found:
            assert (
                row["checked"] is True and row["limit_ordinary_us"] > 0 and row["limit_wide_us"] > 0
            ), row
            assert (row["limit_direct_us"] is not None) == bool(sobor), row


def test_forced_algorithm_is_named(tester):
    """The algorithm that a variable forces is the one in the rows."""
    result = bench(
        tester,
        usable_mpi("o41"),
        3,
        "--collectives",
        "bcast",
        "--sizes",
        "1K",
        sobor={"SOBOR_BCAST_ALGORITHM": "ring"},
    )
    assert {row["algorithm"] for row in rows(result)} == {"ring"}


def test_other_root(tester):
    """Another rank than 0 broadcasts."""
    result = bench(
        tester,
        usable_mpi("o41"),
        3,
        "--collectives",
        "bcast",
        "--root",
        "2",
        "--sizes",
        "100K",
        sobor={},
    )
    assert all(row["checked"] is True for row in rows(result))


def test_passthrough(tester):
    """The price of a call that goes to the host is measured on a rank alone."""
    (row,) = rows(bench(tester, usable_mpi("o41"), 2, "--collectives", "passthrough", sobor={}))
    assert row["collective"] == "passthrough" and row["sobor_us"] > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--sizes", "12x"), ("--sizes", "expected", '"12x"')),
        (("--collectives", "reduction"), ("--collectives", "expected", '"reduction"')),
        (("--counts", "odd"), ("--counts", "expected", '"odd"')),
        (("--seconds", "-1"), ("--seconds", "expected", '"-1"')),
        (("--root", "9"), ("--root", "expected")),
        (("--method", "double"), ("--method", "expected", '"double"')),
        (("--nonsense",), ("--nonsense", "expected")),
        ((), ("not preloaded", "--host-only")),
    ],
    ids=lambda value: " ".join(value) or "none",
)
def test_wrong_options(tester, options, words):
    """A wrong option is named, with what was expected and what was found.

    Under MPICH: Open MPI's launcher takes two seconds for a job that fails.
    """
    result = bench(tester, usable_mpi("m40"), 2, *options)
    assert result.returncode != 0
    lines = [line for line in result.stderr.splitlines() if line.startswith("sobor-bench:")]
    assert len(lines) == 1 and all(word in lines[0] for word in words), result.tail()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "--abi"),
        (["--abi", "ompi40"], "--libmpi"),
        (["--abi", "ompi40", "--libmpi", "/nowhere/libmpi.so"], "/nowhere/libmpi.so"),
        (["--abi", "unknown"], "unknown"),
    ],
    ids=["nothing", "no-library", "wrong-library", "wrong-abi"],
)
def test_launcher_options(words, expected):
    """The host program's own options."""
    if "unknown" in words:
        words = [*words, "--libmpi", str(usable_mpi("o41").library)]
    done = subprocess.run(
        [BENCH, *words], capture_output=True, text=True, check=False, env=jobs.base_environment()
    )
    assert done.returncode == 2
    assert expected in done.stderr


def test_library_of_another_abi(tester):
    """A body that does not fit the library says so instead of crashing."""
    open_mpi, mpich = usable_mpi("o41"), usable_mpi("m50")
    command = [BENCH, "--abi", "mpiabi1", "--libmpi", mpich.library, "--host-only"]
    result = tester.run_command(mpich, 1, command)
    assert result.returncode != 0
    assert "expected mpich12" in result.stderr, result.tail()
    command = [BENCH, "--abi", "ompi40", "--libmpi", mpich.library, "--host-only"]
    result = tester.run_command(open_mpi, 1, command)
    assert result.returncode != 0 and "--abi" in result.stderr, result.tail()


EVERYTHING = f"barrier,bcast,{PARTS},{REDUCTIONS}"
#: Microseconds: many times what any of these calls takes by itself.
SLOWER = 100


def between(tester, key, made_up, *options):
    """Run the bench between a made-up host and a made-up Sobor."""
    mpi = usable_mpi(key)
    sides = [building.build_between(mpi, side) for side in ("host", "program")]
    environment = {"LD_PRELOAD": str(sides[1]), **made_up}
    command = [BENCH, "--abi", mpi.backend, "--libmpi", sides[0], *TIMED, *options]
    return tester.run_command(mpi, 2, command, environment=environment)


def objects(result) -> list[dict]:
    """What the bench printed, however it ended."""
    assert not result.timed_out, result.tail()
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("side", ["", "HOST", "PROGRAM"])
@pytest.mark.parametrize("key", ["o41", "m40"])
def test_wrong_data_is_noticed(tester, key, side):
    """Every call that gives a wrong result on one side is told, and the bench fails for it."""
    made_up = {f"{side}_WRONG": "1"} if side else {}
    options = ("--collectives", EVERYTHING, "--sizes", "5000", "--variants", "hot")
    result = between(tester, key, made_up, *options, "--seconds", "0.001")
    found = objects(result)
    assert [row["collective"] for row in found] == EVERYTHING.split(","), result.tail()
    assert {row["checked"] for row in found} == {not side}, result.tail()
    assert (result.returncode == 0) == (not side), result.tail()
    assert result.stderr.count("wrong calls") == (len(found) if side else 0), result.tail()


@pytest.mark.alone
@pytest.mark.parametrize("side", ["host", "sobor"])
@pytest.mark.parametrize("key", ["o41", "m40"])
def test_times_are_those_of_the_side(tester, key, side):
    """A side whose calls all take longer by a known time is shown so, and the other not."""
    made_up = {f"{'HOST' if side == 'host' else 'PROGRAM'}_SLOW": str(SLOWER)}
    options = ("--collectives", EVERYTHING, "--sizes", "64", "--variants", "hot,chain")
    found = rows(between(tester, key, made_up, *options, "--no-check", *QUICK))
    assert len(found) == 1 + 2 * 16
    for row in found:
        assert row[f"{side}_us"] >= SLOWER, row
        assert row.get(f"{side}_single_us", SLOWER) >= SLOWER, row
        assert row["ratio"] == pytest.approx(row["host_us"] / row["sobor_us"], rel=1e-3)
    other = "sobor" if side == "host" else "host"
    # Not of each: another job may keep a rank from its processor.
    assert statistics.median(row[f"{other}_us"] for row in found) < SLOWER / 2, found


@pytest.mark.parametrize("side", ["host", "sobor"])
def test_a_barrier_takes_its_whole_time(tester, side):
    """Of a barrier that takes milliseconds no part is left out, whatever else the machine does.

    What other jobs add to so long a time is less than half of it.
    """
    longer = 50 * SLOWER
    made_up = {f"{'HOST' if side == 'host' else 'PROGRAM'}_SLOW": str(longer)}
    options = ("--collectives", "barrier", "--variants", "hot", "--no-check")
    (row,) = rows(between(tester, "o41", made_up, *options))
    assert row[f"{side}_us"] >= longer, row


METHODS = ("sobor", "single", "row", "window")
FEW = ("--collectives", "barrier,bcast,gather,allreduce", "--sizes", "64", "--variants", "hot")
FEW = (*FEW, "--method", ",".join(METHODS))
#: Of each collective of FEW.
WAYS = [("single", "own"), ("single", "common"), ("row", None), ("window", None)]


def measured(found: list[dict]) -> list[dict]:
    """The rows but for windows: of a machine without two processors, or too busy to keep one."""
    assert all(row["method"] == "window" for row in found if row["host_us"] is None)
    if len(os.sched_getaffinity(0)) < 2:
        assert {row["host_us"] for row in found if row["method"] == "window"} == {None}
    return [row for row in found if row["host_us"] is not None]


@pytest.mark.alone
@pytest.mark.parametrize("side", ["host", "sobor"])
def test_every_method_shows_the_slower_side(tester, side):
    """By every method, a side whose calls take longer by a known time is shown so."""
    made_up = {f"{'HOST' if side == 'host' else 'PROGRAM'}_SLOW": str(SLOWER)}
    found = rows(between(tester, "o41", made_up, *FEW, "--no-check"))
    own = {"barrier": ("sobor", None)}
    assert [(row["collective"], row["method"], row["sync"]) for row in found] == [
        (name, *way)
        for name in FEW[1].split(",")
        for way in (own.get(name, ("sobor", "common")), *WAYS)
    ]
    found = measured(found)
    for row in found:
        assert row[f"{side}_us"] >= SLOWER, row
        assert row.get(f"{side}_max_us", SLOWER) >= SLOWER, row
    other = "sobor" if side == "host" else "host"
    for method in {row["method"] for row in found}:
        chosen = [row for row in found if row["method"] == method]
        # Not of each: another job may keep a rank from its processor.
        assert min(row[f"{side}_us"] for row in chosen) < 10 * SLOWER, chosen
        assert min(row[f"{other}_us"] for row in chosen) < SLOWER, chosen


@pytest.mark.alone
@pytest.mark.parametrize("side", ["host", "sobor"])
def test_a_long_first_call_does_not_make_rows_short(tester, side):
    """What a barrier lets the root wait for is shared by many calls, also of what sets up first."""
    name = "HOST" if side == "host" else "PROGRAM"
    made_up = {f"{name}_FIRST": str(200 * SLOWER), f"{name}_SKEW": str(10 * SLOWER)}
    options = ("--collectives", "gather", "--sizes", "64", "--variants", "hot", "--method", "row")
    (row,) = rows(between(tester, "o41", made_up, *options, "--no-check", "--seconds", "0.1"))
    assert row[f"{side}_us"] < SLOWER, row


@pytest.mark.alone
def test_a_barrier_that_some_leave_late_does_not_make_rows_short(tester):
    """Where ranks share processors, the last may leave it many milliseconds after the first."""
    options = ("--collectives", "bcast", "--sizes", "64", "--variants", "hot", "--method", "row")
    made_up = {"PROGRAM_SKEW": "20000"}
    (row,) = rows(between(tester, "o41", made_up, *options, "--no-check", "--seconds", "0.1"))
    assert row["calls"] > 100, row


def test_sleeps_in_barriers_beside_a_row_do_not_count(tester):
    """Rows of long calls have one call, and two barriers."""
    options = ("--collectives", "bcast", "--sizes", "4M", "--variants", "hot", "--method", "row")
    (row,) = rows(between(tester, "o41", {"HOST_SKEW": "2000"}, *options, "--no-check"))
    assert row["host_sleeps"] < 0.2, row


@pytest.mark.alone
def test_every_method_checks_the_data(tester):
    """The check belongs to each row, whatever its method."""
    result = between(tester, "m40", {"PROGRAM_WRONG": "1"}, *FEW, "--seconds", "0.001")
    found = objects(result)
    assert len(found) == 4 * 5 and {row["checked"] for row in found} == {False}, result.tail()
    assert result.returncode != 0 and result.stderr.count("wrong calls") == len(found)


@pytest.mark.alone
def test_skew_is_that_of_the_barrier(tester):
    """How far apart ranks begin is seen of the side whose barrier lets one go first."""
    options = ("--collectives", "bcast", "--sizes", "64", "--variants", "hot", "--sync", "own")
    options = (*options, "--method", "sobor,single")
    skew = 10 * SLOWER  # beside which it counts little that another process took a core
    found = rows(between(tester, "o41", {"HOST_SKEW": str(skew)}, *options))
    assert [(row["method"], row["sync"]) for row in found] == [("sobor", "own"), ("single", "own")]
    for row in found:
        assert row["host_skew_us"] >= skew * 0.5, row
        assert row["host_span_us"] >= row["host_skew_us"] * 0.5, row
        # The root is done before the other begins.
        assert row["host_us"] <= row["host_span_us"], row
    assert min(row["sobor_skew_us"] for row in found) < skew, found


@pytest.mark.parametrize(("key", "ranks"), [("o41", 3), ("m40", 2), ("a50", 2)])
def test_methods(tester, key, ranks):
    """By every method with Sobor; a chain is a row of the first method."""
    options = ("--method", ",".join(METHODS), "--variants", "chain,cold")
    options = (*options, "--collectives", "barrier,scan", "--sizes", "256", "--sync", "common")
    found = rows(bench(tester, usable_mpi(key), ranks, *options, sobor={}))
    ways = [("sobor", "common"), ("single", "common"), ("row", None), ("window", None)]
    assert [(row["method"], row["sync"]) for row in found] == [
        ("sobor", None),
        *ways[1:],
        ("sobor", None),
        *ways,
    ]
    assert [row["variant"] for row in found[4:]] == ["chain", *["cold"] * 4]
    for row in found:
        assert row["checked"] is True and row["algorithm"], row
        if row["method"] != "window":
            assert row["sobor_us"] is not None, row
        elif ranks > len(os.sched_getaffinity(0)):  # with a processor each, windows may be missed
            assert row["sobor_us"] is None, row
    single = found[1]
    assert single["host_max_us"] > 0 and single["host_us"] > 0
    assert 0 <= single["sobor_skew_us"] <= single["sobor_span_us"]


@pytest.mark.alone
@pytest.mark.parametrize("side", ["host", "sobor"])
def test_passthrough_is_timed(tester, side):
    """So it is with the calls of a rank alone."""
    made_up = {f"{'HOST' if side == 'host' else 'PROGRAM'}_SLOW": "20"}
    (row,) = rows(between(tester, "o41", made_up, "--collectives", "passthrough"))
    other = "sobor" if side == "host" else "host"
    assert row[f"{side}_us"] >= 20 > row[f"{other}_us"], row
