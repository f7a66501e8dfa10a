# SPDX-License-Identifier: BSD-3-Clause
"""Running programs that draw calls from a seed, and what all of them are run with.

The seed is fixed unless SOBOR_TEST_SEED says otherwise; a failing case prints how to run it again.
"""

from __future__ import annotations

import os

import jobs
import pytest

from conftest import usable_mpi

SEED = int(os.environ.get("SOBOR_TEST_SEED", "20240611"))

#: Settings that bring out wrap-around and every way to wait.
SETTINGS = [
    {"SOBOR_RING": "16KiB", "SOBOR_STORES": "streaming"},
    {"SOBOR_SEGMENT": "named"},
    {"SOBOR_WAIT": "sleep"},
    {"SOBOR_WAIT": "yield", "SOBOR_RING": "16KiB"},
]


#: More ranks than these sleep, where it matters by what algorithm they do something, not how they
#: wait: on a busy machine jobs take half as long.
AWAKE_MOST = 2
#: A host that fails now and then is asked so often whether it fails by itself.
BARE_TRIES = 3


class TimedOut(AssertionError):
    """A run that took too long, as any does on a machine that is busy enough."""


def host_fails(run, first, cases) -> bool:
    """Whether the bare host fails in these cases. That it takes too long does not excuse Sobor."""
    for _ in range(BARE_TRIES):
        try:
            run(first, cases, True)
        except TimedOut:
            continue
        except AssertionError:
            return True
    return False


def run_halves(run, first, cases, left_out) -> list:
    """Results of cases with Sobor; those in which the bare host fails by itself come to left_out.

    run(first, cases, bare) runs some, and raises AssertionError where that fails, TimedOut where it
    took too long. A row that fails is halved until all that fail are known, so that the host's
    failure hides none of Sobor's.
    """
    try:
        return [run(first, cases, False)]
    except AssertionError:
        if not host_fails(run, first, cases):
            raise
    if cases == 1:
        left_out.append(str(first))
        return []
    known, half = len(left_out), cases // 2
    results = run_halves(run, first, half, left_out)
    results += run_halves(run, first + half, cases - half, left_out)
    if len(left_out) == known:  # a case fails behind others only
        left_out.append(f"{first} to {first + cases - 1} in one job")
    return results


def run_drawn(tester, start, words, cases, *, seed, max_bytes, timeout, bare=False) -> jobs.Result:
    """Run cases of a program, the first of the words; it fails by itself at the first difference.

    start(words, bare, timeout) runs a job, with Sobor or on the bare host. Cases in which the host
    fails by itself are left out, and the test says so at its end; with `bare`, the host alone is
    run and must not fail.
    """
    name, *rest = words
    drawn = ["--seed", seed, "--max-bytes", max_bytes, *rest]

    def run(first, some, bare):
        words = [name, *drawn, "--first", first, "--cases", some]
        result = start(words, bare, max(timeout * some / cases, min(timeout, 60)))
        if result.timed_out:
            raise TimedOut(result.tail())
        tester.expect_pass(result)
        assert f"cases {some}\n" in result.stdout, result.tail()
        return result

    if bare:
        return run(0, cases, True)
    left_out = []
    results = run_halves(run, 0, cases, left_out)
    if left_out:
        shown = " ".join(map(str, [name, *drawn]))
        tester.left_out.append(f"the bare host fails by itself: {shown}, {', '.join(left_out)}")
    return jobs.joined(results) if results else pytest.skip(tester.left_out.pop())


def run_cases(tester, words, key, ranks, cases, sobor, *, max_bytes=16384, served=True):
    """Run a program that draws cases, the first of the words, with Sobor.

    Where sobor is None, on the bare host, which must not fail. Else, unless served is false, Sobor
    must have served calls.
    """
    mpi = usable_mpi(key)

    def start(words, bare, timeout):
        return tester.run(mpi, ranks, words, sobor=None if bare else sobor, timeout=timeout)

    drawn = {"seed": SEED + ranks, "max_bytes": max_bytes, "timeout": 300}
    result = run_drawn(tester, start, words, cases, **drawn, bare=sobor is None)
    tester.expect_pass(result, served=served and sobor is not None)
    return result


def served_calls(result):
    """Names of the operations of which Sobor served a call."""
    return {name for report in result.reports for name, n in report.calls.items() if n > 0}


def force_all(tester, query, words, collectives, key, ranks, cases, *, all_of=max):
    """Run a program, the first of the words, until each algorithm of each collective was forced.

    Every job forces one algorithm of each and draws so many cases for each. `all_of`: there are as
    many jobs as the collective has that has most (max) or fewest (min). Gives the job's result,
    and for each of its collectives the name and how many calls each algorithm served.
    """
    table = query("algorithms")
    names = {c: [a["name"] for a in table if a["collective"] == c] for c in collectives}
    for turn in range(all_of(map(len, names.values()))):
        forced = {c: of_one[turn % len(of_one)] for c, of_one in names.items()}
        sobor = {f"SOBOR_{c.upper()}_ALGORITHM": name for c, name in forced.items()}
        if ranks > AWAKE_MOST:
            sobor["SOBOR_WAIT"] = "sleep"
        result = run_cases(tester, words, key, ranks, cases * len(names), sobor)
        calls = [(*name.split(":"), n) for name, n in result.algorithm_calls().items()]
        for collective, name in forced.items():
            # Of two mixed lines with the same numbers a name may be left that is none.
            known = names[collective]
            yield name, result, {a: n for c, a, n in calls if c == collective and a in known}
