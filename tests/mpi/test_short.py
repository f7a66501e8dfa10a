# SPDX-License-Identifier: BSD-3-Clause
"""A little of everything at two ranks, for where programs are slow: under emulation."""

from __future__ import annotations

import pytest
import random_cases

from conftest import usable_mpi

pytestmark = pytest.mark.host_spins


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_basics(tester, key):
    """Barriers and broadcasts on every kind of communicator."""
    result = tester.run(usable_mpi(key), 2, ["basics", "5000"], sobor={})
    tester.expect_pass(result, served=True)


@pytest.mark.parametrize("name", ["parts", "differential", "reductions"])
@pytest.mark.parametrize("key", ["o41", "m40"])
def test_random_cases(tester, long_run, key, name):
    """Random calls, each against what must come out and against the host; of one host a part."""
    if not long_run and key == "m40" and name != "parts":
        pytest.skip("only with SOBOR_TEST_LONG=1")
    result = random_cases.run_cases(tester, [name], key, 2, 60, {})
    assert len(random_cases.served_calls(result)) >= 2, result.tail()
