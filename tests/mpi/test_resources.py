# SPDX-License-Identifier: BSD-3-Clause
"""Memory and descriptors with many communicators, and messages beyond 2^31 bytes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import jobs
import pytest

from conftest import need_debian, usable_mpi

LOOP = 2000
ALIVE = 500
#: Intel MPI itself ends with more in use; MPICH 5 takes long to make them.
ALIVE_MOST = {"i21": 200, "m50": 200}
KIB = 1024
LARGE_NEEDS_GIB = 8
#: Shared memory grows by a few descriptors at most, however many communicators there are.
DESCRIPTORS = 32
#: Part of what the communicators took that may be missing when they are made again: pages that the
#: host touches at one time and not at another are in both figures.
NOT_USED_AGAIN = 0.1


def figures(result, name: str) -> dict[str, int]:
    """The line of `many` that begins with this name."""
    line = re.search(rf"^{name} (.*)$", result.stdout, re.MULTILINE)
    assert line is not None, result.tail()
    return {k: int(v) for k, v in (word.split("=") for word in line.group(1).split())}


def memory_bound(query) -> int:
    """Bound of one rank's shared memory on this machine, in bytes."""
    return query("segment")["bound_bytes"]


@pytest.mark.parametrize("key", ["o41", "m40", "o50", "m50", "i21"])
def test_many_communicators(tester, query, long_run, key):
    """Many made, used and freed, 500 alive at once: bounded memory, no descriptor lost."""
    need_debian(key, long_run)
    mpi, ranks = usable_mpi(key), 2
    alive = min(ALIVE, ALIVE_MOST.get(key, ALIVE))
    words = ["many", str(LOOP if long_run else LOOP // 4), str(alive)]
    bare = tester.run(mpi, ranks, words, timeout=120)
    tester.expect_pass(bare)
    if tester.bare_only:
        return
    result = tester.run(mpi, ranks, words, sobor={}, timeout=120)
    tester.expect_pass(result, served=True)
    summed = [float(r.time_us) for r in result.reports if r.name.endswith("_more)")]
    assert summed and all(us > 0 for us in summed), result.tail()
    descriptors = figures(result, "descriptors")
    assert descriptors["loop"] == descriptors["start"], f"descriptors are lost: {descriptors}"
    assert descriptors["again"] == descriptors["alive"], f"descriptors are lost: {descriptors}"
    assert descriptors["alive"] - descriptors["start"] <= DESCRIPTORS, f"too many: {descriptors}"
    own = figures(bare, "shared_kib")
    shared = figures(result, "shared_kib")
    bound = ranks * memory_bound(query) // KIB
    for stage in shared:
        assert shared[stage] - own[stage] <= bound, f"{stage}: {shared} against {own} bare"
    slack = NOT_USED_AGAIN * (shared["alive"] - shared["loop"])
    grown = (shared["again"] - own["again"]) - (shared["alive"] - own["alive"])
    assert grown <= slack, f"freed memory is not used again: {shared} against {own} bare"


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_private_memory(tester, key):
    """Bookkeeping of freed communicators is given back: a loop twice as long costs no more."""
    mpi = usable_mpi(key)
    few, often = LOOP // 4, LOOP // 2
    runs = [tester.run(mpi, 2, ["many", str(n), "1"], sobor={}, timeout=120) for n in (few, often)]
    for result in runs:
        refused = [report for report in result.reports if report.host > 0]
        assert not refused, f"memory of freed communicators is not used again\n{result.tail()}"
    short, long = (figures(result, "private_kib") for result in runs)
    growth = (long["loop"] - long["start"]) - (short["loop"] - short["start"])
    assert growth <= 256, f"{growth} KiB more for {few} more communicators: {short}, {long}"


IN_USER_NAMESPACE = ("unshare", "--user", "--map-root-user")


@pytest.mark.parametrize("key", ["o41", "i21"])
def test_many_communicators_by_name(tester, key):
    """Ranks in user namespaces of their own find memory by names: it serves as many."""
    if subprocess.run([*IN_USER_NAMESPACE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces")
    mpi, ranks, alive = usable_mpi(key), 2, 60
    command = [*IN_USER_NAMESPACE, tester.program(mpi, "many"), "50", str(alive)]
    result = tester.run_command(mpi, ranks, command, sobor={"SOBOR_MEMORY": "64MiB"}, timeout=120)
    tester.expect_pass(result, served=True)
    refused = [report for report in result.reports if report.host > 0]
    assert not refused, result.tail()


def test_small_memory_bound(tester):
    """With little memory allowed some communicators go to the host, and all results are right."""
    result = tester.run(
        usable_mpi("o41"), 2, ["many", "50", "300"], sobor={"SOBOR_MEMORY": "2MiB"}, timeout=120
    )
    tester.expect_pass(result)
    shared = figures(result, "shared_kib")
    assert shared["alive"] - shared["start"] <= 2 * 2048, shared


MAPPED = 16
#: Of a file of what was measured: more than the C library's heap takes without a map of its own.
LONG_FILE = 300 * KIB


def mapped(result) -> list[bool]:
    """Of the blocks of `blocks`, which ones the C library has mapped apart."""
    lines = re.findall(r"^(?:begin|end) (.*)$", result.stdout, re.MULTILINE)
    assert len(lines) == 2, result.tail()
    return [int(word) == MAPPED for line in lines for word in line.split()]


def expect_places(bare, result) -> None:
    """Long blocks lie in their pages as without Sobor: a copy is slower between blocks that lie in
    different ways."""
    both = list(zip(mapped(bare), mapped(result), strict=True))
    assert any(host for host, _ in both), bare.tail()
    assert all(served for host, served in both if host), result.tail()


@pytest.mark.skipif(jobs.WITH_HEAP != "", reason="long blocks are of the shared heap")
@pytest.mark.parametrize("key", ["o41", "m40", "o50", "m50", "i21"])
def test_blocks_of_malloc(tester, key, tmp_path):
    """Where blocks lie, also where Sobor measures and reads files: one is long, and wrong."""
    mpi = usable_mpi(key)
    bare = tester.run(mpi, 2, ["blocks"])
    tester.expect_pass(bare)
    if tester.bare_only:
        return
    rules = tmp_path / "rules.json"
    rules.write_text('{"rules": [{"collective": "bcast", "algorithm": "ring"}]}')
    files = {"SOBOR_PRICES": None, "XDG_CACHE_HOME": str(tmp_path)}

    def expect(**settings):
        result = tester.run(mpi, 2, ["blocks"], sobor={**files, **settings})
        tester.expect_pass(result, served=True)
        expect_places(bare, result)

    expect()
    expect(SOBOR_TUNING=str(rules))
    for path in (tmp_path / "sobor").glob("*"):
        path.write_text("x" * LONG_FILE)
    expect()


def available_gib() -> float:
    """Free memory of the machine."""
    text = Path("/proc/meminfo").read_text()
    return int(re.search(r"MemAvailable:\s+(\d+) kB", text).group(1)) / 2**20


@pytest.mark.parametrize(("key", "how"), [("m40", "both"), ("o41", "type"), ("o41", "count")])
def test_beyond_two_gibibytes(tester, long_run, key, how):
    """More than 2^31 bytes, by a large type and by a large count; in the same memory, which takes
    longer to be had than to be sent."""
    if not long_run and how != "both":
        pytest.skip("only with SOBOR_TEST_LONG=1")
    if available_gib() < LARGE_NEEDS_GIB:
        pytest.skip(f"needs {LARGE_NEEDS_GIB} GiB of free memory")
    mpi = usable_mpi(key)
    sobor = None if tester.bare_only else {}
    # What a rank sends of its heap is all its own.
    words = ["large", how, *(["whole"] if long_run or jobs.WITH_HEAP else [])]
    result = tester.run(mpi, 2, words, sobor=sobor, timeout=120)
    tester.expect_pass(result, served=sobor is not None)
