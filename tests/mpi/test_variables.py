# SPDX-License-Identifier: BSD-3-Clause
"""Variables that differ between ranks: rank 0's count for all, or what differs must not matter."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import usable_mpi

#: Sets variables on rank 1 alone, before the program starts.
ON_RANK_1 = 'test "$OMPI_COMM_WORLD_RANK$PMI_RANK" != 1 || export $0; exec "$@"'
#: With these nothing is served, so that no other that differs would show beside.
APART = {"SOBOR", "SOBOR_COLLECTIVES", "SOBOR_SEGMENT"}
#: What rank 1 has of those whose type does not tell a value of its own.
VALUES = {"text": "elsewhere", "words": "none", "algorithm": "host", "bytes": "16KiB"}

#: One part of the variables is enough to find a planted fault.
PARTS = 4


def other_value(variable: dict) -> str:
    """A right value that is not the default."""
    if variable["type"] in VALUES:
        return VALUES[variable["type"]]
    if variable["type"] == "count":
        return "2" if variable["default"] != "2" else "1"
    return next(word for word in variable["choices"][::-1] if word != variable["default"])


def by_twos(variables: list[dict]) -> list[list[dict]]:
    """Two variables for each job, but for those that keep all from being served."""
    alone = [[variable] for variable in variables if variable["name"] in APART]
    rest = [variable for variable in variables if variable["name"] not in APART]
    return alone + [rest[i : i + 2] for i in range(0, len(rest), 2)]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("key", ["o41", "m40"])
def test_one_rank_differs(tester, query, long_run, key, part):
    """Each variable in turn is different on rank 1 alone: all results are right, nobody waits."""
    mpi = usable_mpi(key)
    program = tester.program(mpi, "everything")

    def run(together: list[dict]):
        setting = " ".join(f"{each['name']}={other_value(each)}" for each in together)
        words = ["sh", "-c", ON_RANK_1, setting, program]
        return setting, tester.run_command(mpi, 2, words, sobor={}, timeout=60)

    variables = query("variables")
    # Both MPIs take half of them each, and all where time does not matter.
    taken = [[each] for each in variables] if long_run else by_twos(variables[key == "m40" :: 2])
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1) if mpi.open_mpi else 1) as pool:
        try:
            for setting, result in pool.map(run, taken[part::PARTS]):
                try:
                    tester.expect_pass(result)
                except AssertionError as error:
                    raise AssertionError(f"{setting} on rank 1: {error}") from error
        finally:
            pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("way", ["", "exit", "exec", "continue"])
@pytest.mark.parametrize("key", ["o41", "m40"])
def test_children(tester, key, way):
    """A child of fork does no harm, whatever becomes of it; the report comes once."""
    words = ["everything", way] if way else ["everything"]
    result = tester.run(usable_mpi(key), 2, words, sobor={}, apart=True)
    tester.expect_pass(result, served=True)
    worlds = [report for report in result.reports if "WORLD" in str(report.values["name"])]
    assert len(worlds) == 1, result.tail()


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_where_memory_is_said_by_who_is_asked(tester, key):
    """At any verbosity each rank tells where its pages are, or that it may run anywhere."""
    mpi = usable_mpi(key)
    told = tester.run(mpi, 2, ["everything"], sobor={"SOBOR_PLACEMENT_CHECK": "on"})
    quiet = tester.run(mpi, 2, ["everything"], sobor={})
    for result, asked in ((told, True), (quiet, False)):
        tester.expect_pass(result, served=True)
        on_node = result.stderr.count("pages of shared memory are on NUMA node")
        anywhere = result.stderr.count("shared memory has no place")
        assert (on_node + anywhere >= 2) == asked, result.tail()
