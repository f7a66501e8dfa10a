# SPDX-License-Identifier: BSD-3-Clause
"""Random barriers and broadcasts against what must come out and against the host's own result.

The seed is fixed unless SOBOR_TEST_SEED says otherwise; a failing case prints how to run it again.
SOBOR_TEST_LONG=1 draws ten times as many cases.
"""

from __future__ import annotations

import os

import pytest

from conftest import usable_mpi

SEED = int(os.environ.get("SOBOR_TEST_SEED", "20240611"))

#: 20,000 cases by default choices over Open MPI and MPICH.
PLAIN = [
    ("o41", 2, 3000),
    ("o41", 3, 4000),
    ("o41", 4, 3000),
    ("o41", 5, 1500),
    ("m40", 2, 5500),
    ("m40", 4, 60),
    ("o50", 3, 1500),
    ("m50", 2, 1500),
    ("a50", 2, 500),
]
SETTINGS = [
    {"SOBOR_RING": "16KiB"},
    {"SOBOR_SEGMENT": "named"},
    {"SOBOR_WAIT": "sleep"},
    {"SOBOR_WAIT": "yield", "SOBOR_RING": "16KiB", "SOBOR_BCAST_ALGORITHM": "ring"},
]


def run_cases(tester, key, ranks, cases, sobor, *, seed=SEED, max_bytes=65536):
    """Run the program; it fails by itself at the first difference."""
    words = [
        "differential",
        "--seed",
        str(seed),
        "--cases",
        str(cases),
        "--max-bytes",
        str(max_bytes),
    ]
    result = tester.run(usable_mpi(key), ranks, words, sobor=sobor, timeout=300)
    tester.expect_pass(result, served=sobor is not None)
    assert f"cases {cases}" in result.stdout, result.tail()


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_bare(tester, key):
    """The host alone agrees with what is worked out in the program."""
    run_cases(tester, key, 2, 500, None)


@pytest.mark.parametrize(("key", "ranks", "cases"), PLAIN)
def test_cases(tester, long_run, key, ranks, cases):
    """Sobor by its own choices."""
    run_cases(tester, key, ranks, cases * (10 if long_run else 1), {}, seed=SEED + ranks)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: " ".join(s.values()))
@pytest.mark.parametrize(("key", "ranks"), [("o41", 3), ("m40", 2)])
def test_settings(tester, long_run, key, ranks, setting):
    """Settings that bring out wrap-around and every way to wait."""
    run_cases(tester, key, ranks, 4000 if long_run else 400, setting, seed=SEED + 10)


@pytest.mark.parametrize(("key", "ranks"), [("o41", 4), ("m40", 2)])
def test_large(tester, long_run, key, ranks):
    """Messages up to 2 MiB."""
    run_cases(tester, key, ranks, 1000 if long_run else 100, {}, seed=SEED + 20, max_bytes=2 << 20)


@pytest.mark.parametrize(("key", "ranks"), [("o41", 5), ("m40", 2)])
def test_algorithms(tester, query, long_run, key, ranks):
    """Every algorithm by force."""
    for algorithm in query("algorithms"):
        if algorithm["name"] == "host":
            continue
        setting = {f"SOBOR_{algorithm['collective'].upper()}_ALGORITHM": algorithm["name"]}
        run_cases(tester, key, ranks, 3000 if long_run else 300, setting, seed=SEED + 30)
