# SPDX-License-Identifier: BSD-3-Clause
"""Tools of others beside Sobor, and ours that time plain programs."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import building
import pytest
from mpis import BUILD, LAUNCH_ENVIRONMENT, PRELOAD, REPOSITORY, WORK, YIELDING

from conftest import need_debian, usable_mpi


def build_tool(mpi, name: str = "tool"):
    """The tool as a shared object, with the MPI's own compiler."""
    target = WORK / f"{name}-{mpi.key}.so"
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            mpi.compilers["c"],
            "-shared",
            "-fPIC",
            str(building.PROGRAMS / f"{name}.c"),
            "-o",
            str(target),
            "-ldl",
        ],
        env={**os.environ, **LAUNCH_ENVIRONMENT},
        check=True,
    )
    return target


def tool_count(result) -> int:
    """Barriers that the tool says it saw."""
    return int(re.search(r"^tool: (\d+) barriers$", result.stdout, re.MULTILINE).group(1))


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_both_see_every_barrier(tester, key):
    """Whichever is loaded first."""
    mpi = usable_mpi(key)
    # Its barriers are the same, however few broadcasts there are between them.
    program = [tester.program(mpi, "basics"), "1000"]
    tool = build_tool(mpi)
    bare = tester.run_command(mpi, 2, program, environment={"LD_PRELOAD": str(tool)})
    tester.expect_pass(bare)
    for preload in f"{tool}:{PRELOAD}", f"{PRELOAD}:{tool}":
        result = tester.run_command(mpi, 2, program, sobor={"LD_PRELOAD": preload})
        tester.expect_pass(result)
        assert tool_count(result) == tool_count(bare) > 0, preload
        assert sum(report.barrier for report in result.reports) > 0, preload


@pytest.mark.parametrize("key", ["o41", "m40", "o50", "m50", "i21"])
def test_tool_that_goes_past(tester, long_run, key):
    """Darshan takes the host's MPI_Init from behind itself, also where Sobor stands before it: as
    where a program is linked with it."""
    need_debian(key, long_run)
    mpi = usable_mpi(key)
    program = [tester.program(mpi, "basics"), "1000"]
    tool = build_tool(mpi, "tool_past")
    says = [f"tool: {what} right" for what in ("begins", "goes on", "ends", "is gone")]
    for preload in tool, f"{tool}:{PRELOAD}", f"{PRELOAD}:{tool}":
        ours = {"environment" if preload == tool else "sobor": {"LD_PRELOAD": str(preload)}}
        result = tester.run_command(mpi, 2, program, **ours)
        tester.expect_pass(result, served=preload != tool)
        told = [line for line in result.stdout.splitlines() if line.startswith("tool: ")]
        assert told == says, preload
        # What comes in MPI_Finalize does so before the host ends: names can be asked for.
        assert preload == tool or "name=MPI_COMM_WORLD" in result.stderr, result.tail()


@pytest.mark.parametrize("key", ["o41", "m40", "o50", "m50", "i21"])
def test_tool_that_frees_past(tester, long_run, key):
    """Communicators end though Sobor's own function for that is passed by: their handles come
    again, not on every rank for a communicator of as many."""
    need_debian(key, long_run)
    mpi = usable_mpi(key)
    tool = build_tool(mpi, "tool_past")
    for preload in tool, f"{PRELOAD}:{tool}":
        ours = {"environment" if preload == tool else "sobor": {"LD_PRELOAD": str(preload)}}
        program = [tester.program(mpi, "barriers"), "6000"]
        tester.expect_pass(tester.run_command(mpi, 3, program, **ours), served=preload != tool)


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_binding_inside_the_library(tester, key):
    """A Fortran binding that the MPI's own library holds is the program's, by whatever name."""
    mpi = usable_mpi(key)
    library = build_tool(mpi, "inside_mpi")
    result = tester.run(mpi, 2, ["inside"], sobor={"LD_PRELOAD": f"{PRELOAD}:{library}"})
    tester.expect_pass(result, served=True)
    assert sum(report.barrier for report in result.reports) >= 100, result.tail()


def run_tool(*command: object, **environment: str) -> subprocess.CompletedProcess:
    """A tool of the bench, among other tests: ranks of hosts give processors away.

    And begin as those of the other tests do, in half of the time.
    """
    return subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **LAUNCH_ENVIRONMENT, **YIELDING, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def run_bench(folder: str, words: str, *options: str) -> str:
    """What the tool of this folder prints."""
    tool = REPOSITORY / "bench" / folder / "run.py"
    done = run_tool(sys.executable, tool, "--build", BUILD, *words.split(), *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_plain_programs_are_timed_bare_and_with_sobor_in_turn(tmp_path, long_run):
    """Every operation runs, each side is launched as often, and each size has its time."""
    usable_mpi("o41")
    out = tmp_path / "runs.jsonl"
    operations = ["bcast", "alltoallw"][not long_run :]
    words = f"--operations {','.join(operations)} --methods single,turn"
    words += " --launches 2 --seconds 0.01"
    sizes = " --lowest 64 --highest 16384 --step 16"
    printed = run_bench("plain", words + sizes, "--out", str(out))
    runs = [json.loads(line) for line in out.read_text().splitlines()]
    assert [run["side"] for run in runs] == ["bare", "Sobor", "Sobor", "bare"] * 2 * len(operations)
    assert all(set(run["us"]) == {"64", "1024", "16384"} for run in runs)
    assert all(time > 0 for run in runs for time in run["us"].values())
    assert printed.count("mean Sobor") == 2 * len(operations)


def test_plain_programs_are_timed_with_the_heap_and_without(tmp_path, long_run):
    """Every operation, part and kind of buffers runs on each side, and each size has its time."""
    usable_mpi("o41")
    out = tmp_path / "runs.jsonl"
    operations = ["bcast", "message"][not long_run :]
    words = f"--operations {','.join(operations)} --sides bare_heap,heap --launches 1"
    sizes = " --parts call,loop --lowest 32768 --highest 65536 --seconds 0.01"
    run_bench("heap", words + sizes, "--out", str(out))
    runs = [json.loads(line) for line in out.read_text().splitlines()]
    assert [run["side"] for run in runs] == ["bare_heap", "heap"] * 4 * len(operations)
    assert all(set(run["us"]) == {"32768", "65536"} for run in runs)
    assert all(time > 0 for run in runs for time in run["us"].values())


def test_what_the_heap_brings_is_timed_in_turns_in_one_process(tmp_path):
    """Beside buffers that no heap shares, and plain loops that read the other's buffers."""
    usable_mpi("o41")
    out = tmp_path / "runs.jsonl"
    sides = ["heap-others", "heap-direct", "heap-halves"]
    words = f"--operations allreduce --sides {','.join(sides)} --launches 1"
    sizes = " --parts call --buffers others --lowest 32768 --highest 65536 --seconds 0.01"
    printed = run_bench("heap", words + sizes, "--out", str(out)).splitlines()
    runs = [json.loads(line) for line in out.read_text().splitlines()]
    assert [run["side"] for run in runs] == sides
    assert all(time > 0 for run in runs for time in run["us"].values())
    assert all(set(run["beside"]) == set(run["us"]) == {"32768", "65536"} for run in runs)
    assert all(time > 0 for run in runs for time in run["beside"].values())
    for line in printed[1:]:
        ratios = [run["beside"][line.split()[0]] / run["us"][line.split()[0]] for run in runs]
        assert all(
            f"{side} {ratio:.2f} (" in line for side, ratio in zip(sides, ratios, strict=True)
        )


def test_passed_calls_are_timed_bare_and_in_every_way_that_passes_them():
    """A table of each MPI that is asked for: the bare host, then what each way takes beside it."""
    usable_mpi("o41")
    title, bare, *ways = run_bench("passed", "--mpi o41 --rounds 1 --calls 101").splitlines()
    assert title.split() == ["o41", "self", "bcast", "operator", "between"]
    assert all(float(word) > 0 for word in bare.split()[1:])
    assert [way.count("(") for way in ways] == [4, 4, 4]


def test_what_communicators_cost_is_shown_beside_the_host(query):
    """Every row has both sides, and the default is twice what goes to the host at first."""
    mpi = usable_mpi("o41")
    tool = REPOSITORY / "bench" / "communicators" / "compare.py"
    words = ["--mpicc", mpi.compilers["c"], "--mpiexec", shlex.join(mpi.command(2, {}))]
    done = run_tool(sys.executable, tool, PRELOAD, *words, "--runs", 1, SOBOR_SERVE_AFTER="2")
    assert done.returncode == 0, done.stderr
    title, *rows = done.stdout.splitlines()
    assert title.split() == ["host", "Sobor", "ratio", "more"]
    assert len(rows) == 8 and rows[6].startswith("  4 broadcasts each, ms"), done.stdout
    for row in rows:
        host, ours, _, more = row.rsplit(maxsplit=4)[1:]
        assert float(more) == pytest.approx(float(ours) - float(host), abs=0.02), row
    usual = next(row for row in query("variables") if row["name"] == "SOBOR_SERVE_AFTER")["default"]
    assert f"{2 * int(usual)} without it" in run_tool(sys.executable, tool, "--help").stdout


COPIES = BUILD / "bin" / "sobor-bench-copy"


def test_copies_are_timed_over_pairs_of_offsets():
    """All pairs of the two steps, of each size; the exit status says whether one is too slow."""
    done = run_tool(COPIES, "--sources", 2048, "--sizes", "256,16K", 2048)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    sizes = [line.split()[0] for line in lines if re.match(r" +\d+ ", line)]
    assert sizes == ["256", "16384"] * 2, done.stdout
    below = int(re.search(r", (\d+) of 8 points below 0\.9,", lines[-1]).group(1))
    assert done.returncode == (below > 0)


def test_a_copy_that_is_slow_is_a_finding(tmp_path):
    """Short copies are the C library's: where those are slow, a plain loop is faster."""
    (tmp_path / "slow.c").write_text(
        "#include <stddef.h>\n"
        "void *memcpy(void *restrict to, const void *restrict from, size_t bytes)\n"
        "{\n"
        "    for (volatile int i = 0; bytes == 256 && i < 100; i++) continue;\n"
        "    for (size_t i = 0; i < bytes; i++)\n"
        "        ((volatile char *)to)[i] = ((const volatile char *)from)[i];\n"
        "    return to;\n"
        "}\n"
    )
    slow = tmp_path / "slow.so"
    words = ["cc", "-O1", "-fno-builtin", "-shared", "-fPIC", tmp_path / "slow.c", "-o", slow]
    subprocess.run(words, check=True)
    done = run_tool(COPIES, "--sources", 4096, "--sizes", "256", 4096, LD_PRELOAD=str(slow))
    assert done.returncode == 1, done.stdout
    assert "1 of 1 points below 0.9," in done.stdout


@pytest.mark.parametrize("words", ["0", "--sources 5000", "--sizes 8", "--sizes 8M", "16 16"])
def test_wrong_words_for_copies_are_refused(words):
    """With the usage, and another status than a finding."""
    done = run_tool(COPIES, *words.split())
    assert done.returncode == 2 and "usage: sobor-bench-copy" in done.stderr
