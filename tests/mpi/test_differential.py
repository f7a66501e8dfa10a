# SPDX-License-Identifier: BSD-3-Clause
"""Random barriers and broadcasts against what must come out and against the host's own result.

SOBOR_TEST_LONG=1 draws thirty times as many cases.
"""

from __future__ import annotations

import pytest
import random_cases

from conftest import need_bare

#: By default choices: 3,500 cases, 105,000 in a long run.
PLAIN = [
    ("o41", 2, 500),
    ("o41", 3, 600),
    ("o41", 4, 400),
    ("o41", 5, 300),
    ("m40", 2, 800),
    ("m40", 4, 20),
    ("o50", 3, 250),
    ("m50", 2, 250),
    ("i21", 2, 250),
    ("a50", 2, 150),
]
SETTINGS = [
    *random_cases.SETTINGS[:-1],
    {**random_cases.SETTINGS[-1], "SOBOR_BCAST_ALGORITHM": "ring"},
]


def run_cases(tester, key, ranks, cases, sobor, *, max_bytes=65536):
    """Run the program with messages that need a ring."""
    words = ["differential"]
    random_cases.run_cases(tester, words, key, ranks, cases, sobor, max_bytes=max_bytes)


@pytest.mark.parametrize("key", ["o41", "m40", "i21"])
def test_bare(tester, long_run, key):
    """The host alone agrees with what is worked out in the program."""
    need_bare(tester, key, long_run)
    run_cases(tester, key, 2, 300, None)


@pytest.mark.parametrize(("key", "ranks", "cases"), PLAIN)
def test_cases(tester, long_run, key, ranks, cases):
    """Sobor by its own choices."""
    run_cases(tester, key, ranks, cases * (30 if long_run else 1), {})


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: " ".join(s.values()))
@pytest.mark.parametrize(("key", "ranks"), [("o41", 3), ("m40", 2)])
def test_settings(tester, long_run, key, ranks, setting):
    """Settings that bring out wrap-around and every way to wait."""
    run_cases(tester, key, ranks, 2000 if long_run else 200, setting)


@pytest.mark.parametrize(("key", "ranks"), [("o41", 4), ("m40", 2)])
def test_large(tester, long_run, key, ranks):
    """Messages up to 2 MiB."""
    run_cases(tester, key, ranks, 500 if long_run else 50, {}, max_bytes=2 << 20)


@pytest.mark.parametrize(("key", "ranks"), [("o41", 5), ("m40", 2)])
def test_algorithms(tester, query, long_run, key, ranks):
    """Every algorithm of the two by force; in the short form all barriers on one host alone."""
    cases = 750 if long_run else 40
    words, two = ["differential"], ["barrier", "bcast"]
    all_of = max if long_run or key == "o41" else min
    given = (query, words, two, key, ranks, cases)
    for name, result, ran in random_cases.force_all(tester, *given, all_of=all_of):
        assert set(ran) == {name} or f"{name} cannot serve" in result.stderr, result.tail()
