# SPDX-License-Identifier: BSD-3-Clause
"""Running programs that draw calls from a seed, and what all of them are run with.

The seed is fixed unless SOBOR_TEST_SEED says otherwise; a failing case prints how to run it again.
"""

from __future__ import annotations

import os

from conftest import usable_mpi

SEED = int(os.environ.get("SOBOR_TEST_SEED", "20240611"))

#: Settings that bring out wrap-around and every way to wait.
SETTINGS = [
    {"SOBOR_RING": "16KiB", "SOBOR_STORES": "streaming"},
    {"SOBOR_SEGMENT": "named"},
    {"SOBOR_WAIT": "sleep"},
    {"SOBOR_WAIT": "yield", "SOBOR_RING": "16KiB"},
]


def run_cases(tester, words, key, ranks, cases, sobor, *, max_bytes=16384, served=True):
    """Run a program, the first of the words; it fails by itself at the first difference.

    Unless served is false Sobor must have served calls, where it is there.
    """
    drawn = ["--seed", str(SEED + ranks), "--cases", str(cases), "--max-bytes", str(max_bytes)]
    mpi = usable_mpi(key)
    result = tester.run(mpi, ranks, [words[0], *drawn, *words[1:]], sobor=sobor, timeout=300)
    tester.expect_pass(result, served=served and sobor is not None)
    assert f"cases {cases}" in result.stdout, result.tail()
    return result


def served_calls(result):
    """Names of the operations of which Sobor served a call."""
    return {name for report in result.reports for name, n in report.calls.items() if n > 0}


def force_all(tester, query, words, collectives, key, ranks, cases):
    """Run a program, the first of the words, until each algorithm of each collective was forced.

    Every job forces one algorithm of each and draws so many cases for each. Gives the job's result,
    and for each of its collectives the name and how many calls each algorithm served.
    """
    table = query("algorithms")
    names = {c: [a["name"] for a in table if a["collective"] == c] for c in collectives}
    for turn in range(max(map(len, names.values()))):
        forced = {c: of_one[turn % len(of_one)] for c, of_one in names.items()}
        sobor = {f"SOBOR_{c.upper()}_ALGORITHM": name for c, name in forced.items()}
        result = run_cases(tester, words, key, ranks, cases * len(names), sobor)
        calls = [(*name.split(":"), n) for name, n in result.algorithm_calls().items()]
        for collective, name in forced.items():
            yield name, result, {a: n for c, a, n in calls if c == collective}
