# SPDX-License-Identifier: BSD-3-Clause
"""What ranks record of their calls: the program's calls are known, and so is who is late."""

from __future__ import annotations

import re
import shutil
import stat
import subprocess
import sys
import time

import jobs
import numpy as np
import pytest
from mpis import BUILD, PRELOAD, REPOSITORY
from test_tools import build_tool

from conftest import usable_mpi

sys.path.insert(0, str(REPOSITORY / "python"))

from sobor.trace import analysis, files

LATE_MS = 25
ROUNDS = 12
RECORD_BYTES = files.RECORD.itemsize
BOTH = pytest.mark.parametrize("key", ["o41", "m40"])


@pytest.fixture
def traced(tester):
    """Runs a program that records; returns the result and the folder."""

    def run(key, ranks, words, sobor=None, **settings):
        folder = tester.folder / "trace"
        variables = {"SOBOR_TRACE": str(folder), **(sobor or {})}
        return tester.run(usable_mpi(key), ranks, words, sobor=variables, **settings), folder

    return run


def records_of(trace, rank: int) -> list[tuple[str, int, int]]:
    """Operation, bytes and root of each call of a rank, in order."""
    rows = trace.calls[trace.calls["rank"] == rank]
    return [
        (files.COLLECTIVES[row["collective"]], int(row["bytes"]), int(row["root"])) for row in rows
    ]


def expected_of_late(ranks: int) -> list[tuple[str, int, int]]:
    """The calls of late.c."""
    one = [("allreduce", 8, -1), ("bcast", 4000, 0), ("barrier", 0, -1)]
    return [
        *one * ROUNDS,
        ("gather", 100, ranks - 1),
        ("alltoallv", 4 * ranks, -1),
        ("bcast", 0, 0),
    ]


@pytest.mark.parametrize("key", ["o41", "m40", "o50", "m50", "i21"])
def test_end_that_goes_past(traced, key):
    """A tool's MPI_Finalize that leads past Sobor's is the end of what is recorded all the same."""
    tool = build_tool(usable_mpi(key), "tool_ends")
    preload = {"LD_PRELOAD": f"{PRELOAD}:{tool}"}
    result, folder = traced(key, 2, ["late", "0", str(ROUNDS)], preload)
    assert result.returncode == 0 and "PASS" in result.stdout, result.tail()
    trace = files.read(str(folder))
    assert trace.ranks == [0, 1] and trace.notes == []
    for rank in trace.ranks:
        assert records_of(trace, rank) == [*expected_of_late(2), ("exscan", 4, -1)]


@pytest.mark.parametrize("how", [{}, {"SOBOR": "off"}, {"SOBOR_COLLECTIVES": "none"}], ids=str)
@BOTH
def test_late_rank(traced, key, how):
    """Every call is recorded, served or not, and the trace tells who was late where."""
    result, folder = traced(key, 2, ["late", str(LATE_MS), str(ROUNDS)], how)
    assert result.returncode == 0 and "PASS" in result.stdout, result.tail()
    trace = files.read(str(folder))
    assert trace.ranks == [0, 1] and trace.notes == []
    for rank in trace.ranks:
        assert records_of(trace, rank) == expected_of_late(2)
        rows = trace.calls[trace.calls["rank"] == rank]
        assert (rows["error"][:-1] == 0).all() and rows["error"][-1] != 0
        assert (rows["left"] >= rows["entered"]).all()
        assert (rows["entered"][1:] >= rows["left"][:-1]).all()
        served = {trace.algorithms[row["algorithm"]] for row in rows[: 3 * ROUNDS]}
        assert ("host" in served) == bool(how) and (len(served) == 3) == (not how)
    assert trace.comms[1].name == "MPI_COMM_WORLD" and len(trace.comms) == 3
    report = analysis.analyse(trace)
    assert report["matched_calls"] == 3 * ROUNDS + 3 and report["unmatched_records"] == 0
    late = next(site for site in report["sites"] if site["calls"] == ROUNDS)
    assert late["site"].startswith("late")
    (bcast,) = [s for s in report["sites"] if s["collective"] == "bcast" and s["calls"] == ROUNDS]
    assert bcast["latest_rank"] == 1 and bcast["latest_share"] > 0.6
    assert bcast["width_us"]["p50"] > 0.8 * 1000 * LATE_MS
    assert report["late"][1]["held_up_us"] > report["late"][0]["held_up_us"]


def command_line(folder, *words) -> subprocess.CompletedProcess:
    """The sobor command, in a folder."""
    environment = {
        **jobs.base_environment(),
        **{"PYTHONPATH": str(REPOSITORY / "python"), "SOBOR_PREFIX": str(BUILD)},
    }
    return subprocess.run(
        [sys.executable, "-m", "sobor", *map(str, words)],
        **{"cwd": folder, "env": environment, "capture_output": True, "text": True},
        timeout=60,
        check=False,
    )


@BOTH
def test_command(tester, key):
    """sobor trace hands it to the ranks, and sobor report names who is late and where."""
    if tester.bare_only:
        pytest.skip("only the bare MPI is asked for")
    mpi = usable_mpi(key)
    program = [*mpi.command(2, {}), tester.program(mpi, "late"), LATE_MS, ROUNDS]
    run = command_line(tester.folder, "trace", "-o", "run1", "--", *program)
    assert run.returncode == 0 and "PASS" in run.stdout, run.stdout + run.stderr
    assert "sobor report run1" in run.stderr
    report = command_line(tester.folder, "report", "run1", "--html", "run1.html")
    assert report.returncode == 0, report.stderr
    assert "rank 1 is the last in" in report.stdout and "bcast" in report.stdout
    assert "<canvas" in (tester.folder / "run1.html").read_text()


def test_late_application(tester):
    """LAMMPS, whose first rank runs a command and then tells the others what comes next: the trace
    names it, and costs little of the time."""
    program = shutil.which("lmp")
    if program is None or tester.bare_only:
        pytest.skip("LAMMPS is not installed, or only the bare MPI is asked for")
    melt = (REPOSITORY / "tests/mpi/apps/in.melt").read_text()
    (tester.folder / "in.late").write_text(melt + "\nshell sleep 0.03\n" * ROUNDS)
    command = [program, "-in", tester.folder / "in.late", "-log", "none"]
    variables = {"SOBOR_TRACE": str(tester.folder / "trace")}
    result = tester.run_command(usable_mpi("o41"), 2, command, sobor=variables, timeout=60)
    assert result.returncode == 0, result.tail()
    report = analysis.analyse(files.read(str(tester.folder / "trace")))
    late = {row["rank"]: row for row in report["late"]}
    # Half of it: on a busy machine the other comes late too.
    assert late[0]["held_up_us"] > ROUNDS * 30_000 / 2
    sites = [row for row in report["sites"] if row["latest_rank"] == 0]
    assert sites and sites[0]["collective"] == "bcast"
    assert sites[0]["waiting_us"] > ROUNDS * 30_000 / 4
    # A record takes tens of nanoseconds: even at a microsecond they take less than a hundredth.
    assert 0 < late[0]["calls"] < 0.01 * 1e6 * report["seconds"]


@BOTH
def test_files(traced, key):
    """One file for each rank, for its owner alone, and nothing unfinished."""
    _, folder = traced(key, 2, ["late", "0", "2"])
    found = sorted(folder.iterdir())
    assert len(found) == 2 and all(path.suffix == ".trace" for path in found)
    assert {stat.S_IMODE(path.stat().st_mode) for path in found} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_containers(tester):
    """Ranks that each are the first process of their own: one file for each all the same."""
    apart = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]
    if tester.bare_only or subprocess.run([*apart, "true"], check=False).returncode != 0:
        pytest.skip("no namespaces, or only the bare MPI is asked for")
    mpi, folder = usable_mpi("o41"), tester.folder / "trace"
    command = [*apart, tester.program(mpi, "late"), "0", "2"]
    # Open MPI's shared memory knows ranks by the numbers of their processes.
    variables, options = {"SOBOR_TRACE": str(folder)}, ("--mca", "btl", "self,tcp")
    result = tester.run_command(mpi, 2, command, sobor=variables, options=options)
    assert result.returncode == 0 and "PASS" in result.stdout, result.tail()
    assert {files.read_file(path).pid for path in folder.iterdir()} == {1}
    assert files.read(str(folder)).ranks == [0, 1]


@BOTH
def test_bytes_of_every_operation(traced, key):
    """As docs/trace.md defines them, in place too; a communicator has one number on all members."""
    ranks = 3 if key == "o41" else 2
    result, folder = traced(key, ranks, ["sizes"])
    assert result.returncode == 0, result.tail()
    trace = files.read(str(folder))
    last = ranks - 1
    for rank in range(ranks):
        own = 4 * (3 + 4 * rank)
        assert records_of(trace, rank) == [
            ("bcast", 4, last),
            *[("scatter", 8, last)] * 2,
            *[("scatterv", own, last)] * 2,
            *[("gather", 16, last)] * 2,
            *[("gatherv", own, last)] * 2,
            ("reduce", 20, last),
            ("barrier", 0, -1),
            *[("allgather", 24, -1)] * 2,
            *[("allgatherv", own, -1)] * 2,
            *[("alltoall", 28, -1)] * 2,
            ("alltoallv", 32 * ranks, -1),
            ("alltoallw", 32 * ranks, -1),
            ("allreduce", 36, -1),
            ("reduce_scatter", 32, -1),
            ("reduce_scatter_block", 40, -1),
            ("scan", 44, -1),
            ("exscan", 48, -1),
            ("barrier", 0, -1),
        ]
    assert {comm.name for comm in trace.comms[1:]} == {"MPI_COMM_WORLD", "even", "odd"}
    calls = analysis.match(trace, trace.calls)
    assert calls.count == 24 + (1 if ranks == 3 else 0)


@BOTH
def test_bounded_memory(traced, key):
    """The last calls are kept, in order, and it is said how many were lost."""
    result, folder = traced(key, 2, ["late", "0", "200"], {"SOBOR_TRACE_BUFFER": "4KiB"})
    assert result.returncode == 0, result.tail()
    for path in folder.iterdir():
        file = files.read_file(path)
        assert file.records.size == 64 <= 4096 // RECORD_BYTES
        assert file.calls == 603 and file.lost == 603 - 64
        world = file.records[file.records["comm"] == 1]
        assert (np.diff(world["number"].astype(int)) == 1).all() and world["number"][-1] == 600
        assert (np.diff(file.records["entered"].astype(np.int64)) > 0).all()
    trace = files.read(str(folder))
    assert any("539 of 603 calls" in note for note in trace.notes)
    assert analysis.match(trace, trace.calls).count == 64


@BOTH
def test_exit_without_finalize(traced, key):
    """What was recorded is written all the same. The launcher may end who is not the first."""
    _, folder = traced(key, 2, ["late", "0", "5", "exit"])
    trace = files.read(str(folder))
    ended = [note for note in trace.notes if note.endswith("ended without MPI_Finalize")]
    whole = [path.suffix == ".trace" for path in folder.iterdir()]
    assert ended and len(ended) == sum(whole)
    # MPICH's launcher kills the others: who was writing leaves a part of a file, nobody's trace.
    assert all(whole) or key == "m40"
    # Who was ended by the launcher may have had calls before it, whatever its number.
    assert max(len(records_of(trace, int(note.split()[1]))) for note in ended) == 18


@BOTH
def test_killed_rank(traced, key):
    """The job ends; who is ended by a signal that can be handled writes what it has, whole."""
    began = time.monotonic()
    result, folder = traced(key, 2, ["late", "0", "5", "kill"])
    assert not result.timed_out and result.returncode != 0 and time.monotonic() - began < 30
    assert all(path.suffix == ".trace" for path in folder.iterdir())
    if key == "m40":
        return  # its launcher kills the others at once
    trace = files.read(str(folder))
    assert trace.ranks == [0] and len(trace.calls) == 18
    assert trace.notes[0].startswith("no file of rank 1")
    assert trace.notes[1].startswith("rank 0 ended")


@pytest.mark.parametrize(
    ("key", "end", "number"),
    [
        ("o41", "abort", "SIGABRT"),
        ("o41", "crash", "SIGSEGV"),
        ("m40", "abort", "SIGABRT"),
        ("m50", "crash", "SIGSEGV"),  # in 4.0 of Debian UCX handles it, and lets nobody else
    ],
)
def test_crashed_rank(traced, key, end, number):
    """It leaves what it has, and the host says of it what it says without."""
    result, folder = traced(key, 2, ["late", "0", "5", end])
    assert not result.timed_out and result.returncode != 0
    assert ("*** Process received signal ***" in result.stderr) == (key == "o41")
    trace = files.read(str(folder))
    assert f"rank 1 ended by {number}" in trace.notes
    assert len(records_of(trace, 1)) == 18


@BOTH
def test_not_asked_for(tester, key):
    """Without the variable nothing is written, and the calls are those of the back end itself."""
    words = ["late", "0", "5"]
    plain = tester.run(usable_mpi(key), 2, words, sobor={})
    assert not list(tester.folder.rglob("*.trace"))
    folder = tester.folder / "trace"
    recorded = tester.run(usable_mpi(key), 2, words, sobor={"SOBOR_TRACE": str(folder)})
    assert [r.calls for r in plain.reports] == [r.calls for r in recorded.reports]
    assert [r.algorithm_calls() for r in (plain,)] == [r.algorithm_calls() for r in (recorded,)]


@pytest.mark.parametrize(
    ("key", "name"), [("o41", "SOBOR_TRACE"), ("m40", "SOBOR_TRACE"), ("o41", "SOBOR_PROFILE")]
)
def test_folder_that_cannot_be(tester, key, name):
    """It is said what is wrong, and the program runs as without."""
    result = tester.run(usable_mpi(key), 2, ["late", "0", "2"], sobor={name: "/dev/null"})
    tester.expect_pass(result, served=True)
    assert f"{name}: expected a folder" in result.stderr and "/dev/null" in result.stderr


@BOTH
def test_limit_of_files(traced, key):
    """A trace that may not be as large is not written at all, and the program does not notice."""
    result, folder = traced(key, 2, ["late", "0", "50", "limit"])
    assert result.returncode == 0 and "PASS" in result.stdout, result.tail()
    assert "File too large" in result.stderr and list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["SOBOR_TRACE", "SOBOR_PROFILE"])
@pytest.mark.mpis("m50")
def test_handlers(tester, name):
    """A handler of the program's own hears of each error once, and the calls return as without.

    MPICH 5 returns no error then: what was given to such a call is not taken for right.
    """
    mpi = usable_mpi("m50")
    bare = tester.run(mpi, 2, ["handlers"])
    tester.expect_pass(bare)
    result = tester.run(mpi, 2, ["handlers"], sobor={name: str(tester.folder / "calls")})
    tester.expect_pass(result, served=True)
    returned = re.compile(r"rank \d+ returned [a-z ]+")
    assert sorted(returned.findall(result.stdout)) == sorted(returned.findall(bare.stdout))


@pytest.mark.parametrize("key", ["o41", "m40", "o50", "m50", "i21", "a50"])
def test_other_hosts(traced, key):
    """Every MPI, and its own collectives within MPI_File functions are not the program's."""
    result, folder = traced(key, 2, ["counting", "data.bin"])
    assert result.returncode == 0, result.tail()
    trace = files.read(str(folder))
    world = [row for row in records_of(trace, 0) if row[0] in ("barrier", "bcast")]
    assert len([row for row in world if row[0] == "bcast"]) == 10
    assert len([row for row in world if row[0] == "barrier"]) == 17
