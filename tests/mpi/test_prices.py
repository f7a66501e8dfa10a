# SPDX-License-Identifier: BSD-3-Clause
"""Measured prices in jobs: they are found, kept, and the same on ranks that have different ones."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from jobs import NO_CACHE

from conftest import usable_mpi

#: No built-in prices, and the line that says where rank 0 has them from.
AUTO = {"SOBOR_PRICES": "auto", "SOBOR_VERBOSE": "2"}
ORIGIN = re.compile(r"team of \d+ ranks: .*, prices (.*), control blocks of")
#: Another job may take the processors while a job measures; it then does without.
ATTEMPTS = 20
SIZES = ["8", "1000", "5000", "65536", "300000"]

pytestmark = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="ranks that share a processor measure nothing"
)


def origin(result) -> str:
    """Where rank 0 of MPI_COMM_WORLD had its prices from."""
    return ORIGIN.search(result.stderr).group(1)


def run(tester, cache, *, ranks=2, sobor=None, words=(), key="o41"):
    """A job whose ranks have that cache folder, or each its own where there are several."""
    folders = [cache] * ranks if isinstance(cache, (str, Path)) else cache
    chosen = f"set -- {' '.join(map(str, folders))}; shift ${{PMIX_RANK:-$PMI_RANK}}"
    mpi = usable_mpi(key)
    program = tester.program(mpi, "tuned")
    files = ",".join("-" * ranks)
    script = f"{chosen}; XDG_CACHE_HOME=$1 exec {program} {files} {' '.join(words or SIZES)}"
    result = tester.run_command(mpi, ranks, ["sh", "-c", script], sobor={**AUTO, **(sobor or {})})
    tester.expect_pass(result)
    return result


#: What a job has measured: one does so for all tests, since on a busy machine it takes many.
kept_text: list[str] = []


def measured(tester, folder: Path) -> str:
    """The file of a job that has measured, put into the folder."""
    path = folder / "sobor" / "prices"
    if kept_text:
        write(folder, kept_text[0])
        return kept_text[0]
    for _ in range(ATTEMPTS):
        result = run(tester, folder)
        text = path.read_text() if path.exists() else ""
        if "\nprice line " in text:  # two ranks ran at the same time
            assert origin(result) == "measured now"
            kept_text.append(text)
            return text
        path.unlink(missing_ok=True)
        assert origin(result) in ("measured now", "built in")
    pytest.skip("this machine is too busy to measure anything on it")


def write(folder: Path, text: str) -> Path:
    """Puts the file into a cache folder; returns the folder."""
    (folder / "sobor").mkdir(parents=True, exist_ok=True)
    path = folder / "sobor" / "prices"
    path.write_text(text)
    path.chmod(0o600)
    return folder


def ruled(text: str) -> str:
    """The file, with rules for Open MPI."""
    version = subprocess.run(
        ["mpirun.openmpi", "--version"], capture_output=True, text=True, check=True
    )
    name = re.search(r"\) ([\d.]+)", version.stdout).group(1)
    machine = re.search(r"^machine.*ranks 2\n", text, re.DOTALL | re.MULTILINE).group()
    rules = "rule bcast 0 4096 2 0 host\nrule bcast 4097 - 2 0 ring\nend\n"
    return f"{text}{machine}mpi Open MPI {name}\n{rules}"


def dear(text: str) -> str:
    """The file, with slots that cost broadcasts much more, and rings that cost reductions more."""
    more = "price slots_piece 960000\nprice slots_beyond 1180000\nprice waiting 400000\n"
    more += "price ring_shared 400\nprice ring_apart 800\nprice ring_calm 1800\nend"
    return text.replace("end", more)


@pytest.mark.mpis("o41")
def test_what_a_job_measures_is_kept_for_the_next(tester, tmp_path):
    kept_text.clear()
    text = measured(tester, tmp_path)
    path = tmp_path / "sobor" / "prices"
    assert text.startswith("sobor-prices 1\n")
    assert "\nranks 2\n" in text
    assert "\nby start\n" in text
    assert re.search(r"^price line \d+$", text, re.MULTILINE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["prices"]
    for key in ("o41", "m40"):
        assert origin(run(tester, tmp_path, key=key)) == str(path)
    assert path.read_text() == text


@pytest.mark.mpis("o41")
def test_ranks_with_different_files_go_by_that_of_rank_0(tester, tmp_path):
    # Where a line is found to take 0.6 us, no price that a file may have makes slots too dear.
    text = re.sub(r"price line \d+", "price line 100000", measured(tester, tmp_path / "first"))
    folders = {
        "usual": write(tmp_path / "usual", text),
        "dear": write(tmp_path / "dear", dear(text)),
        "ruled": write(tmp_path / "ruled", ruled(text)),
        "broken": write(tmp_path / "broken", text[:-9]),
    }
    # Who receives a broadcast follows its root, so ranks that differ would count others. A
    # reduction's algorithm follows from no file: such ranks combine alike.
    words = [f"{sign}{2**e}" for sign in ("", "+") for e in range(3, 19)]
    calls = {}
    for first, second in (
        *(("usual", "dear"), ("dear", "usual")),
        *(("usual", "broken"), ("dear", "broken"), ("usual", "none"), ("dear", "none")),
        *(("usual", "ruled"), ("ruled", "usual"), ("ruled", "none")),
    ):
        write(tmp_path / "broken", text[:-9])
        both = [folders[first], folders.get(second, NO_CACHE)]
        result = run(tester, both, words=words)
        assert origin(result) == str(folders[first] / "sobor" / "prices")
        found = result.algorithm_calls()
        assert calls.setdefault(first, found) == found
    assert calls["usual"] != calls["dear"] != calls["ruled"] != calls["usual"]


@pytest.mark.mpis("o41")
def test_a_measured_rule_decides_for_its_ranks_and_its_mpi(tester, tmp_path):
    text = measured(tester, tmp_path)
    write(tmp_path, ruled(text))
    calls = run(tester, tmp_path)
    (report,) = [r for r in calls.reports if r.name == "MPI_COMM_WORLD"]
    assert report.host == 2 * sum(int(size) <= 4096 for size in SIZES), calls.tail()
    assert report.algorithms["bcast:ring"] == 2 * sum(int(size) > 4096 for size in SIZES)
    # A variable is a person's wish.
    named = run(tester, tmp_path, sobor={"SOBOR_BCAST_ALGORITHM": "tree"})
    assert named.algorithm_calls()["bcast:tree"] == 2 * len(SIZES)
    # Another MPI has another host.
    write(tmp_path, (tmp_path / "sobor" / "prices").read_text().replace("mpi Open", "mpi Closed"))
    (report,) = [r for r in run(tester, tmp_path).reports if r.name == "MPI_COMM_WORLD"]
    assert report.host == 0


@pytest.mark.mpis("o41")
@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda text: text[:-9], "expected"),
        (lambda text: "{}\n", "line 1: expected sobor-prices 1"),
        (lambda text: text.replace("sobor-prices 1", "sobor-prices 7"), "found .sobor-prices 7"),
        (lambda text: re.sub(r"price byte \d+", "price byte 0", text), "a sixteenth to sixteen"),
        (lambda text: text + "\0", "expected text, found a zero byte"),
        (lambda text: text + "#" * 600000, "found a longer one"),
    ],
    ids=["cut", "json", "foreign", "nonsense", "binary", "long"],
)
def test_a_broken_file_is_told_once_and_counts_for_nothing(tester, tmp_path, change, found):
    path = write(tmp_path, change(measured(tester, tmp_path))) / "sobor" / "prices"
    result = run(tester, tmp_path)
    assert origin(result) in ("measured now", "built in")
    told = [line for line in result.stderr.splitlines() if "counts for nothing" in line]
    assert len(told) == 1, result.tail()
    assert str(path) in told[0]
    assert re.search(found, told[0]), told[0]


@pytest.mark.mpis("o41")
def test_a_file_that_others_may_write_counts_for_nothing(tester, tmp_path):
    measured(tester, tmp_path)
    (tmp_path / "sobor" / "prices").chmod(0o606)
    result = run(tester, tmp_path, sobor={"SOBOR_VERBOSE": "2"})
    assert "found one that others may write" in result.stderr
    assert origin(result) != str(tmp_path / "sobor" / "prices")


@pytest.mark.mpis("o41")
def test_what_cannot_be_kept_is_measured_all_the_same(tester):
    result = run(tester, NO_CACHE)
    assert origin(result) in ("measured now", "built in")
    if origin(result) == "measured now":
        assert f"what was measured is not kept: {NO_CACHE}/sobor/prices: " in result.stderr


@pytest.mark.mpis("o41")
def test_a_cache_that_is_off_is_neither_read_nor_written(tester, tmp_path):
    result = run(tester, tmp_path, sobor={"SOBOR_CACHE": "off"})
    assert origin(result) in ("measured now", "built in")
    assert list(tmp_path.iterdir()) == []
    measured(tester, tmp_path)
    result = run(tester, tmp_path, sobor={"SOBOR_CACHE": "off"})
    assert origin(result) in ("measured now", "built in")
    result = run(tester, tmp_path, sobor={"SOBOR_PRICES": "built-in"})
    assert origin(result) == "built in"


@pytest.mark.mpis("o41")
def test_ranks_that_share_processors_measure_nothing(tester, tmp_path):
    ranks = len(os.sched_getaffinity(0)) + 1
    if ranks > 9:
        pytest.skip("so many ranks are no small job")
    assert origin(run(tester, tmp_path, ranks=ranks)) == "built in"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.mpis("o41")
def test_jobs_that_measure_together_leave_one_whole_file(tester, tmp_path):
    for _ in range(3):
        with ThreadPoolExecutor(3) as pool:
            for job in [pool.submit(run, tester, tmp_path) for _ in range(3)]:
                job.result()
    folder = tmp_path / "sobor"
    if not folder.exists():
        pytest.skip("this machine is too busy to measure anything on it")
    assert {entry.name for entry in folder.iterdir()} <= {"prices"}
    if (folder / "prices").exists():
        assert origin(run(tester, tmp_path)) == str(folder / "prices")
