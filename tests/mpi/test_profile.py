# SPDX-License-Identifier: BSD-3-Clause
"""What sobor profile says of programs whose calls are known."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from mpis import REPOSITORY

from conftest import usable_mpi
from test_trace import command_line

sys.path.insert(0, str(REPOSITORY / "python"))

from sobor.launchers import recognise
from sobor.profile import estimate as estimates
from sobor.profile import files, views

BOTH = pytest.mark.parametrize("key", ["o41", "m40"])
LATE_MS, ROUNDS = 6, 12


@pytest.fixture
def profiled(tester):
    """Runs sobor profile on a program; returns what it wrote as JSON."""

    def run(key, words, *options):
        if tester.bare_only:
            pytest.skip("only the bare MPI is asked for")
        mpi = usable_mpi(key)
        program = [*mpi.command(2, {}), tester.program(mpi, words[0]), *words[1:]]
        line = ["profile", *options, "--json", "p.json", "--", *program]
        result = command_line(tester.folder, *line)
        assert result.returncode == 0 and "PASS" in result.stdout, result.stdout + result.stderr
        assert list(tester.folder.glob(".sobor-profile-*")) == []
        return json.loads((tester.folder / "p.json").read_text())

    return run


def rows_of(profile):
    """Operation, size class, communicator and whether it was served: calls."""
    keys = ("operation", "bytes", "communicator", "served")
    return {tuple(row[key] for key in keys): row["calls"] for row in profile["calls"]}


@pytest.mark.parametrize("off", [False, True])
@BOTH
def test_sums(profiled, key, off):
    """All calls in their classes, served or not; rank 0 waits for rank 1, which comes late."""
    profile = profiled(key, ["late", LATE_MS, ROUNDS], *(("--set", "SOBOR=off") if off else ()))
    assert list(profile) == ["wall_s", "ranks", "host", "calls", "other", "communicators"]
    of_world = next(k for k in profile["communicators"] if k["communicator"] == "MPI_COMM_WORLD")
    assert of_world["ranks"] == 2 and of_world["number"] == 1
    assert of_world["operations"] == {"allreduce": 8, "barrier": 0, "bcast": 2048}
    assert profile["ranks"] == 2
    assert profile["host"] == recognise(str(usable_mpi(key).launcher)).label
    assert profile["other"] == []
    world = "MPI_COMM_WORLD"
    rows = rows_of(profile)
    assert {row[:3]: calls for row, calls in rows.items() if row[2] == world} == {
        ("allreduce", 8, world): ROUNDS,
        ("bcast", 2048, world): ROUNDS,
        ("barrier", 0, world): ROUNDS,
    }
    copy = {row[0]: calls for row, calls in rows.items() if row[2] != world}
    assert copy == {"gather": 1, "alltoallv": 1, "bcast": 1}
    assert {row[3] for row in rows if row[2] == world} == {not off}
    for row in profile["calls"]:
        assert row["total_us_min"] <= row["total_us_mean"] <= row["total_us_max"]
        assert row["wait_us_mean"] is None or row["wait_us_mean"] >= 0
    waiting = sum(map(views.waiting_us, profile["calls"]))
    assert 0.9 * 1000 * LATE_MS * ROUNDS / 2 < waiting < 1e6 * profile["wall_s"]


@BOTH
def test_other_calls(profiled, key):
    """Functions that Sobor does not stand in for are counted, over all ranks."""
    profile = profiled(key, ["calls_counted", 50])
    assert {row["function"]: row["calls"] for row in profile["other"]} == {
        **dict.fromkeys(["MPI_Irecv", "MPI_Isend", "MPI_Waitall"], 100),
        **dict.fromkeys(["MPI_Ibarrier", "MPI_Wait"], 100),
        **{"MPI_Win_fence": 4, "MPI_Put": 2},
    }


def test_sample(tester):
    """Of many calls a few are kept, the same on both ranks, and all are summed."""
    folder = tester.folder / "profile"
    words = ["late", "0", "3000"]
    result = tester.run(usable_mpi("o41"), 2, words, sobor={"SOBOR_PROFILE": str(folder)})
    assert result.returncode == 0, result.tail()
    ranks = [files.read_file(path) for path in sorted(folder.glob("*.profile"))]
    kept = [{record[4] for record in rank.records if record[7] == 1} for rank in ranks]
    assert kept[0] == kept[1] and set(range(1, 512)) <= kept[0]
    assert 1000 < len(kept[0]) < 3000 and max(kept[0]) > 8000
    weights = sum(files.weight(number) for number in kept[0])
    assert abs(weights - 9000) < 900
    assert sum(cell[0] for cell in ranks[0].cells) == 9003


def test_pages(profiled, tester):
    """A comparison and a page of it: both sides the host, so the interval contains 1."""
    result = profiled("o41", ["late", "0", "5"], "--compare", "2", "--set", "COLLECTIVES=none")
    assert result["ratio_low"] <= result["ratio"] <= result["ratio_high"]
    assert result["rounds"] == len(result["host_s"]) == len(result["sobor_s"]) == 2
    operations = {row["operation"] for row in result["operations"]}
    assert operations == {"allreduce", "bcast", "barrier", "gather", "alltoallv"}
    report = command_line(tester.folder, "report", "p.json")
    assert report.returncode == 0 and "host over Sobor" in report.stdout, report.stderr
    page = (tester.folder / "p.html").read_text()
    assert "sobor profile --compare 2 -- " in page and "barrier, Sobor" in page
    assert "Of it, in collectives" in page


def test_estimate(profiled, tester):
    """The ratios of what takes most time, and a prediction that follows from them."""
    profiled("o41", ["late", "0", "40"], "--set", "SOBOR=off")
    launcher = usable_mpi("o41").command(2, {})[0]
    words = ["estimate", "p.json", "--seconds", "0.02", "--json", "-", "--launcher", launcher]
    made = command_line(tester.folder, *words)
    assert made.returncode == 0, made.stderr
    estimate = json.loads(made.stdout)
    measured = [row for row in estimate["points"] if row["ratio"] is not None]
    assert measured
    # Those on the copy are too few to be served: nothing is to be gained there.
    moved = {
        (row["communicator"], row["operation"]): row["total_ms"] - row["wait_ms"]
        for row in estimate["points"]
    }
    kept = {(row["communicator"], row["operation"]) for row in measured}
    assert {communicator for communicator, _ in kept} == {"MPI_COMM_WORLD"}
    left = sum(moved[key] for key in moved if key[0] == "MPI_COMM_WORLD" and key not in kept)
    took = sum(moved[key] for key in kept)
    assert left <= 1.001 * (1 - estimates.SHARE) * (took + left)
    assert estimate["covered"] == pytest.approx(took / sum(moved.values()))
    for row in measured:  # a busy machine's ratios may be anything
        moving = row["total_ms"] - row["wait_ms"]
        least = row["wait_ms"] + min(moving, moving / row["ratio"])
        assert row["predicted_ms"] >= least * 0.999999
        assert row["ratio"] == pytest.approx(1, rel=0.1) or (row["ratio"] > 1) == (
            row["predicted_ms"] < row["total_ms"]
        )
    total = sum(row["predicted_ms"] for row in estimate["points"])
    assert estimate["predicted_s"] == pytest.approx(total / 1e3 + estimate["set_up_s"])
    assert estimate["set_up_s"] > 0
    (world,) = (k for k in estimate["set_up"] if k["communicator"] == "MPI_COMM_WORLD")
    assert world["number"] == 1 and world["ranks"] == 2 and world["operations"]


def test_nobody_wrote(tester):
    """A program without MPI leaves nothing to say."""
    result = command_line(tester.folder, "profile", "--", "true")
    assert result.returncode != 0 and "no rank wrote a profile" in result.stderr


@BOTH
def test_counters_and_summary(tester, key):
    """What a tool asks for, and the file of the job for a site: the calls of rank 0."""
    folder = tester.folder / "summaries"
    folder.mkdir()
    sobor = {"SOBOR_SUMMARY": str(folder), "SOBOR_SERVE_AFTER": "100"}
    result = tester.run(usable_mpi(key), 2, ["counters"], sobor=sobor)
    assert result.returncode == 0 and "PASS" in result.stdout, result.tail()
    (file,) = folder.iterdir()
    summary = json.loads(file.read_text())
    assert summary["version"] == 1 and summary["ranks"] == 2
    assert summary["served"]["bcast"] == 5
    assert summary["passed"] == {"size-1": 1, "new": 2}


def test_summary_of_another_job(tester):
    """In containers hosts and processes have the same names again: the first job's file stays."""
    folder = tester.folder / "summaries"
    folder.mkdir()
    program = tester.program(usable_mpi("o41"), "counters")
    first = f"{folder}/sobor-$(hostname)-$$"
    script = f'echo first >"{first}.json"; echo second >"{first}.1.json"; exec {program}'
    sobor = {"SOBOR_SUMMARY": str(folder), "SOBOR_SERVE_AFTER": "100"}
    result = tester.run_command(usable_mpi("o41"), 2, ["sh", "-c", script], sobor=sobor)
    assert result.returncode == 0 and "SOBOR_SUMMARY: " not in result.stderr, result.tail()
    (third,) = folder.glob("*.2.json")
    assert json.loads(third.read_text())["ranks"] == 2
    assert sorted(file.read_text() for file in folder.glob("*.json") if file != third) == [
        "first\n", "first\n", "second\n", "second\n",
    ]  # fmt: skip


def test_summary_on_a_full_disk(tester):
    """No half of a file is left."""
    folder = tester.folder / "summaries"
    folder.mkdir()
    apart = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    mount = f"mount -t tmpfs -o size=4k none {folder} && "
    if subprocess.run([*apart, mount + "true"], check=False).returncode != 0:
        pytest.skip("no namespaces")
    program = tester.program(usable_mpi("o41"), "counters")
    fill = f'head -c 4096 /dev/zero >"{folder}/full" && "$0"; ls "{folder}"'
    command = [*apart, mount + fill, program]
    sobor = {"SOBOR_SUMMARY": str(folder), "SOBOR_SERVE_AFTER": "100"}
    result = tester.run_command(usable_mpi("o41"), 2, command, sobor=sobor)
    assert "SOBOR_SUMMARY: " in result.stdout + result.stderr, result.tail()
    assert ".json" not in result.stdout and result.stdout.count("full") == 2, result.tail()


def test_summary_without_a_folder(tester):
    """It is said, and the job is none the worse."""
    sobor = {"SOBOR_SUMMARY": str(tester.folder / "nowhere")}
    result = tester.run(usable_mpi("o41"), 2, ["late", "0", "2"], sobor=sobor)
    assert result.returncode == 0 and "SOBOR_SUMMARY: " in result.stdout + result.stderr
