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


def run_cases(tester, words, key, ranks, cases, sobor, *, max_bytes=16384):
    """Run a program, the first of the words; it fails by itself at the first difference."""
    drawn = ["--seed", str(SEED + ranks), "--cases", str(cases), "--max-bytes", str(max_bytes)]
    mpi = usable_mpi(key)
    result = tester.run(mpi, ranks, [words[0], *drawn, *words[1:]], sobor=sobor, timeout=300)
    tester.expect_pass(result, served=sobor is not None)
    assert f"cases {cases}" in result.stdout, result.tail()
    return result


def served_calls(result):
    """Names of the operations of which Sobor served a call."""
    return {name for report in result.reports for name, n in report.calls.items() if n > 0}


def force_each(tester, query, words, function, key, ranks, cases):
    """Run one function of the program with each algorithm by force.

    Gives name, result, and how many calls each algorithm of the collective served.
    """
    collective = function.lower()
    for name in [a["name"] for a in query("algorithms") if a["collective"] == collective]:
        setting = {f"SOBOR_{collective.upper()}_ALGORITHM": name}
        only = [*words, "--only", function]
        result = run_cases(tester, only, key, ranks, cases, setting)
        calls = result.algorithm_calls()
        mine = [n.partition(":") for n in calls if n.startswith(f"{collective}:")]
        yield name, result, {n: calls[f"{c}:{n}"] for c, _, n in mine}
