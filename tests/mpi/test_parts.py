# SPDX-License-Identifier: BSD-3-Clause
"""Random calls of all that moves parts between ranks: against what must be there, and the host.

SOBOR_TEST_LONG=1 draws 50,000 cases over Open MPI and MPICH.
"""

from __future__ import annotations

import pytest
import random_cases
from random_cases import force_all, run_cases, served_calls

from conftest import need_bare, usable_mpi

MOVING = (
    *("Scatter", "Scatterv", "Gather", "Gatherv", "Allgather", "Allgatherv"),
    *("Alltoall", "Alltoallv", "Alltoallw"),
)

#: MPI, ranks, cases, cases of a long run: 50,000 in all.
PLAIN = [
    ("o41", 2, 300, 10000),
    ("o41", 3, 300, 9000),
    ("o41", 4, 150, 4000),
    ("o41", 5, 100, 3000),
    ("m40", 2, 300, 20000),
    ("m40", 3, 20, 500),
    ("o50", 3, 150, 2000),
    ("m50", 2, 200, 1000),
    ("i21", 2, 200, 1000),
    ("a50", 2, 100, 500),
]
SETTINGS = [
    *random_cases.SETTINGS,
    {"SOBOR_WAIT": "yield", "SOBOR_RING": "16KiB", "SOBOR_CMA": "off", "SOBOR_STORES": "streaming"},
    {"SOBOR_CMA": "on"},
    {"SOBOR_STORES": "streaming"},
]


@pytest.mark.parametrize(("key", "cases"), [("o41", 300), ("m40", 300), ("i21", 250)])
def test_bare(tester, long_run, key, cases):
    """The host alone agrees with what is worked out; Intel MPI crashes while unpacking later."""
    need_bare(tester, key, long_run)
    run_cases(tester, ["parts"], key, 2, cases, None)


@pytest.mark.parametrize(("key", "ranks", "cases", "many"), PLAIN)
def test_cases(tester, long_run, key, ranks, cases, many):
    """Sobor by its own choices serves every one of them; few cases need not draw each."""
    result = run_cases(tester, ["parts"], key, ranks, many if long_run else cases, {})
    if cases < 100:
        return
    assert served_calls(result) >= {name.lower() for name in MOVING}, result.tail()


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: " ".join(s.values()))
@pytest.mark.parametrize(("key", "ranks"), [("o41", 3), ("m40", 2)])
def test_settings(tester, long_run, key, ranks, setting):
    """Settings that bring out wrap-around and every way to wait."""
    run_cases(tester, ["parts"], key, ranks, 2000 if long_run else 100, setting)


@pytest.mark.parametrize(("key", "ranks"), [("o41", 4), ("m40", 2)])
def test_large(tester, long_run, key, ranks):
    """Parts of up to a megabyte."""
    cases = 500 if long_run else 40
    run_cases(tester, ["parts"], key, ranks, cases, {}, max_bytes=512 << 10)


@pytest.mark.parametrize(("key", "ranks"), [("o41", 4), ("m40", 2)])
def test_algorithms(tester, query, long_run, key, ranks):
    """Every algorithm by force, and no other of the same collective."""
    names = [name.lower() for name in MOVING]
    cases = 500 if long_run else 30
    for name, result, ran in force_all(tester, query, ["parts"], names, key, ranks, cases):
        assert set(ran) == {name} - {"host"}, f"{name} forced, {ran} ran\n{result.tail()}"


@pytest.mark.parametrize("cma", ["auto", "on"])
@pytest.mark.parametrize(("key", "ranks"), [("o41", 2), ("o41", 3), ("m40", 2)])
def test_rights_given_up(tester, key, ranks, cma):
    """A rank whose memory can be read no longer still gets and gives all its parts."""
    result = tester.run(usable_mpi(key), ranks, ["rights"], sobor={"SOBOR_CMA": cma}, timeout=60)
    tester.expect_pass(result, served=True)
