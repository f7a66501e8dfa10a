# SPDX-License-Identifier: BSD-3-Clause
"""Ranks whose long blocks of malloc are shared: on all of them, and on every other one."""

from __future__ import annotations

import re

import jobs
import pytest
import random_cases
import test_apps
import test_mpi4py_suite

from conftest import usable_mpi

USUAL = {**jobs.HEAP, "SOBOR_HEAP_LEAST": "64KiB"}
#: Ranks that have forked, with their blocks, most bytes and loads.
REPORT = r"^sobor: heap rank=(\d) blocks=(\d+) peak=(\d+) loads=(\d+) private=fork$"
WAYS = ("all", "half", "usual")
#: Jobs of the long form of the forks: each has ten in every rank.
FORKING = 60


@pytest.mark.parametrize("key", ["o41", "o50", "m40"])
def test_messages_are_loads(tester, long_run, key):
    """The host's messages and Sobor's operations read what is shared, until there is a child."""
    mpi = usable_mpi(key)
    for _ in range(FORKING if long_run else 1):
        result = tester.run(mpi, 2, ["heap", "50", "shared"], sobor=USUAL)
        tester.expect_pass(result, served=True)
        told = re.findall(REPORT, result.stderr, re.MULTILINE)
        assert sorted(rank for rank, *_ in told) == ["0", "1"], result.tail()
        assert all(int(n) > 0 for _, *numbers in told for n in numbers), told


def test_what_ended_it(tester):
    """A program that unmaps a part of a block ends it too, and that is what is said."""
    result = tester.run(usable_mpi("o41"), 2, ["heap", "20", "mapping"], sobor=USUAL)
    tester.expect_pass(result, served=True)
    told = re.findall(REPORT.replace("fork", "mapping"), result.stderr, re.MULTILINE)
    assert sorted(rank for rank, *_ in told) == ["0", "1"], result.tail()


@pytest.mark.parametrize("key", ["m50", "i21", "a50"])
def test_other_hosts(tester, key):
    """Whatever they do about memory themselves."""
    tester.expect_pass(tester.run(usable_mpi(key), 2, ["heap", "20"], sobor=USUAL), served=True)


@pytest.mark.parametrize("ranks", [2, 3])
def test_no_block_is_long(tester, ranks):
    """The first reduction finds a heap in which nothing was allocated so far."""
    words = ["reductions", "--seed", "1", "--first", "0", "--cases", "40", "--max-bytes", "65536"]
    short = {**jobs.HEAP, "SOBOR_HEAP_LEAST": "1GiB"}
    tester.expect_pass(tester.run(usable_mpi("o41"), ranks, words, sobor=short), served=True)


@pytest.mark.parametrize(("key", "ranks"), [("o41", 3), ("m40", 2)])
def test_half(tester, key, ranks):
    """What one rank has the other need not."""
    mpi = usable_mpi(key)
    command = [*jobs.HALF, tester.program(mpi, "heap"), "20"]
    tester.expect_pass(tester.run_command(mpi, ranks, command, sobor=USUAL), served=True)


@pytest.mark.parametrize("name", ["differential", "parts", "reductions"])
@pytest.mark.parametrize(("key", "ranks", "way"), [("o41", 3, "half"), ("m40", 2, "all")])
def test_random_cases(tester, long_run, monkeypatch, key, ranks, way, name):
    """Random calls with all blocks of a page and more shared."""
    for ranks_have_it in WAYS if long_run else (way,):
        monkeypatch.setattr(jobs, "WITH_HEAP", ranks_have_it)
        cases = 1000 if long_run else 100
        random_cases.run_cases(tester, [name], key, ranks, cases, {}, max_bytes=1 << 18)


@pytest.mark.parametrize("way", WAYS)
def test_lammps(tester, long_run, monkeypatch, way):
    """A program's numbers are what they are without."""
    if way != "half" and not long_run:
        pytest.skip("only with SOBOR_TEST_LONG=1")
    monkeypatch.setattr(jobs, "WITH_HEAP", way)
    test_apps.check_lammps(tester, 2, [{}])


@pytest.mark.usefixtures("only_long")
@pytest.mark.parametrize("way", WAYS)
def test_hpcc(tester, monkeypatch, way):
    """HPCC's own checks."""
    monkeypatch.setattr(jobs, "WITH_HEAP", way)
    test_apps.check_hpcc(tester, 2, test_apps.PROBLEM_SIZES[True], [{}])


@pytest.mark.usefixtures("only_long")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("key", ["o41", "m40"])
def test_mpi4py(tester, monkeypatch, key, way):
    """mpi4py's suite: what fails fails on the bare MPI."""
    monkeypatch.setattr(jobs, "WITH_HEAP", way)
    suite = test_mpi4py_suite
    # The rest takes a minute each time: once for each MPI.
    whole = (key, way) in (("o41", "half"), ("m40", "all"))
    for select in (suite.COLLECTIVES, suite.REST) if whole else (suite.COLLECTIVES,):
        suite.test_suite(tester, True, suite.Run(key, 2, select, 400))
