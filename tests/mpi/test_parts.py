# SPDX-License-Identifier: BSD-3-Clause
"""Random calls of all that moves parts between ranks: against what must be there, and the host.

The seed is fixed unless SOBOR_TEST_SEED says otherwise; a failing case prints how to run it again.
SOBOR_TEST_LONG=1 draws 50,000 cases over Open MPI and MPICH.
"""

from __future__ import annotations

import os

import pytest

from conftest import usable_mpi

SEED = int(os.environ.get("SOBOR_TEST_SEED", "20240611"))
MOVING = (
    *("Scatter", "Scatterv", "Gather", "Gatherv", "Allgather", "Allgatherv"),
    *("Alltoall", "Alltoallv", "Alltoallw"),
)

#: MPI, ranks, cases, cases of a long run: 50,000 in all.
PLAIN = [
    ("o41", 2, 600, 10000),
    ("o41", 3, 600, 9000),
    ("o41", 4, 300, 4000),
    ("o41", 5, 200, 3000),
    ("m40", 2, 600, 20000),
    ("m40", 3, 20, 500),
    ("o50", 3, 200, 2000),
    ("m50", 2, 200, 1000),
    ("a50", 2, 100, 500),
]
SETTINGS = [
    {"SOBOR_RING": "16KiB"},
    {"SOBOR_SEGMENT": "named"},
    {"SOBOR_WAIT": "sleep"},
    {"SOBOR_WAIT": "yield", "SOBOR_RING": "16KiB", "SOBOR_CMA": "off"},
    {"SOBOR_CMA": "on"},
]


def run_cases(tester, key, ranks, cases, sobor, *, max_bytes=16384, only=None):
    """Run the program; it fails by itself at the first difference."""
    words = ["parts", "--seed", str(SEED + ranks), "--cases", str(cases)]
    words += ["--max-bytes", str(max_bytes), *(["--only", only] if only else [])]
    result = tester.run(usable_mpi(key), ranks, words, sobor=sobor, timeout=300)
    tester.expect_pass(result, served=sobor is not None)
    assert f"cases {cases}" in result.stdout, result.tail()
    return result


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_bare(tester, key):
    """The host alone agrees with what is worked out in the program."""
    run_cases(tester, key, 2, 300, None)


@pytest.mark.parametrize(("key", "ranks", "cases", "many"), PLAIN)
def test_cases(tester, long_run, key, ranks, cases, many):
    """Sobor by its own choices serves every one of them."""
    result = run_cases(tester, key, ranks, many if long_run else cases, {})
    served = {name for report in result.reports for name, n in report.calls.items() if n > 0}
    assert served >= {name.lower() for name in MOVING}, result.tail()


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: " ".join(s.values()))
@pytest.mark.parametrize(("key", "ranks"), [("o41", 3), ("m40", 2)])
def test_settings(tester, long_run, key, ranks, setting):
    """Settings that bring out wrap-around and every way to wait."""
    run_cases(tester, key, ranks, 4000 if long_run else 150, setting)


@pytest.mark.parametrize(("key", "ranks"), [("o41", 4), ("m40", 2)])
def test_large(tester, long_run, key, ranks):
    """Parts of up to a megabyte."""
    cases = 1000 if long_run else 40
    run_cases(tester, key, ranks, cases, {}, max_bytes=512 << 10)


@pytest.mark.parametrize("function", MOVING)
@pytest.mark.parametrize(("key", "ranks"), [("o41", 4), ("m40", 2)])
def test_algorithms(tester, query, long_run, key, ranks, function):
    """Every algorithm by force, and no other of the same collective."""
    collective = function.lower()
    mine = [a for a in query("algorithms") if a["collective"] == collective]
    for algorithm in mine:
        setting = {f"SOBOR_{collective.upper()}_ALGORITHM": algorithm["name"]}
        cases = 1000 if long_run else 60
        result = run_cases(tester, key, ranks, cases, setting, only=function)
        ran = {n for n in result.algorithm_calls() if n.startswith(f"{collective}:")}
        forced = {f"{collective}:{algorithm['name']}"} if algorithm["name"] != "host" else set()
        assert ran == forced, f"{algorithm['name']} forced\n{result.tail()}"
