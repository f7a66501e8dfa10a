# SPDX-License-Identifier: BSD-3-Clause
"""The datatype engine under each MPI: random types against the standard's definitions and the MPI.

The program holds Sobor's own sources, so it sees what a broadcast hides: whether a type was
described at all, and any part of the packed stream. SOBOR_TEST_LONG=1 draws twenty times as many.
"""

from __future__ import annotations

from random_cases import SEED


def test_flatten(tester, mpi, long_run):
    """Every constructor, nested, packed and unpacked in any order and from any byte on."""
    cases = 100_000 if long_run else 5_000
    words = ["flatten", "--seed", str(SEED), "--cases", str(cases)]
    if mpi.key == "i21":  # its own packing of some distributed arrays is wrong
        words += ["--only", "own"]
    result = tester.run(mpi, 1, words, timeout=300)
    tester.expect_pass(result)
    assert f"cases {cases}" in result.stdout, result.tail()


def test_pack_speed_runs(tester, mpi):
    """The table of costs: all ways pack the same bytes. Times decide nothing."""
    tester.expect_pass(tester.run(mpi, 1, ["pack_speed", "2"], timeout=60))
