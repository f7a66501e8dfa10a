# SPDX-License-Identifier: BSD-3-Clause
"""Ranks whose long blocks of malloc are shared: on all of them, and on every other one."""

from __future__ import annotations

import mpis
import pytest
import random_cases

from conftest import usable_mpi

PRELOAD = f"{mpis.PRELOAD.with_name('libsobor-heap.so')}:{mpis.PRELOAD}"
#: Every block of a page and more.
SHORT = {"LD_PRELOAD": PRELOAD, "SOBOR_HEAP": "on", "SOBOR_HEAP_LEAST": "4KiB"}
USUAL = {"LD_PRELOAD": PRELOAD, "SOBOR_HEAP": "on"}
#: Odd ranks have none.
HALF = '[ $((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} % 2)) = 1 ] && export SOBOR_HEAP=off;exec "$0" "$@"'


@pytest.mark.parametrize("key", ["o41", "o50", "m40"])
def test_messages_are_loads(tester, key):
    """The host's messages and Sobor's operations read what is shared, until there is a child."""
    result = tester.run(usable_mpi(key), 2, ["heap", "50", "shared"], sobor=USUAL)
    tester.expect_pass(result, served=True)


@pytest.mark.parametrize("key", ["m50", "i21", "a50"])
def test_other_hosts(tester, key):
    """Whatever they do about memory themselves."""
    tester.expect_pass(tester.run(usable_mpi(key), 2, ["heap", "20"], sobor=USUAL), served=True)


@pytest.mark.parametrize(("key", "ranks"), [("o41", 3), ("m40", 2)])
def test_half(tester, key, ranks):
    """What one rank has the other need not."""
    mpi = usable_mpi(key)
    command = ["sh", "-c", HALF, tester.program(mpi, "heap"), "20"]
    tester.expect_pass(tester.run_command(mpi, ranks, command, sobor=USUAL), served=True)


@pytest.mark.parametrize("name", ["differential", "parts", "reductions"])
@pytest.mark.parametrize(("key", "ranks"), [("o41", 3), ("m40", 2)])
def test_random_cases(tester, long_run, key, ranks, name):
    """Random calls with all blocks of a page and more shared."""
    cases = 2000 if long_run else 100
    random_cases.run_cases(tester, [name], key, ranks, cases, SHORT, max_bytes=1 << 18)
