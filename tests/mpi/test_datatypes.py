# SPDX-License-Identifier: BSD-3-Clause
"""The datatype engine under each MPI: random types against the standard's definitions and the MPI.

The program holds Sobor's own sources, so it sees what a broadcast hides: whether a type was
described at all, and any part of the packed stream. SOBOR_TEST_LONG=1 draws fifty times as many.
"""

from __future__ import annotations

import pytest
from random_cases import SEED


def test_flatten(tester, mpi, long_run):
    """Every constructor, nested, packed and unpacked in any order and from any byte on."""
    cases = 100_000 if long_run else 2_000
    words = ["flatten", "--seed", str(SEED), "--cases", str(cases)]
    if mpi.key == "i21":  # its own packing of some distributed arrays is wrong
        words += ["--only", "own"]
    result = tester.run(mpi, 1, words, timeout=300)
    tester.expect_pass(result)
    assert f"cases {cases}" in result.stdout, result.tail()


def test_pack_speed_runs(tester, mpi, long_run):
    """The table of costs: all ways pack the same bytes. Times decide nothing."""
    if not long_run and mpi.key not in ("o41", "m40"):
        pytest.skip("only with SOBOR_TEST_LONG=1")
    tester.expect_pass(tester.run(mpi, 1, ["pack_speed", "2"], timeout=60))
