# SPDX-License-Identifier: BSD-3-Clause
"""Tuning files in jobs: choices by size, kept to the byte, and the same on ranks that disagree."""

from __future__ import annotations

import json

import pytest

from conftest import usable_mpi

RANKS = 3
#: A choice ends between the last two sizes of each row; most lie within a class of sizes.
RULES = [
    {"collective": "barrier", "algorithm": "counter"},
    {"collective": "bcast", "bytes": {"to": 1000}, "algorithm": "tree", "arity": 1},
    {"collective": "bcast", "bytes": {"to": 65536}, "algorithm": "ring", "fragment": "1KiB"},
    {"collective": "bcast", "bytes": {"from": 100000, "to": 100001}, "algorithm": "host"},
    {"collective": "bcast", "ranks": RANKS, "algorithm": "tree", "arity": 2},
    {"collective": "bcast", "ring": "64KiB"},
]
SIZES = [7, 1000, 1001, 65536, 65537, 99999, 100000, 100001, 100002, 300000]
EXPECTED = {
    "barrier:counter": 1,
    "bcast:tree": (2 + 4) * RANKS,
    "bcast:ring": 2 * RANKS,
}
ON_HOST = 2 * RANKS
OTHER = [
    {"collective": "barrier", "algorithm": "flat"},
    {"collective": "bcast", "algorithm": "slots", "arity": 2, "slots": 1},
]


@pytest.fixture
def file_of(tmp_path):
    """Writes rules to a file of that name."""

    def write(name: str, rules) -> str:
        path = tmp_path / name
        path.write_text(json.dumps({"rules": rules}) if isinstance(rules, list) else rules)
        return str(path)

    return write


@pytest.mark.parametrize("key", ["o41", "m40"])
@pytest.mark.parametrize("others", ["same", "none", "other", "wrong"])
def test_the_file_of_rank_0_decides_by_size(tester, file_of, key, others):
    ours = file_of("ours", RULES)
    theirs = {"same": ours, "none": "-", "other": file_of("other", OTHER), "wrong": "/nowhere"}
    words = ["tuned", ",".join([ours, theirs[others], theirs[others]]), *map(str, SIZES)]
    result = tester.run(usable_mpi(key), RANKS, words, sobor={})
    tester.expect_pass(result)
    (report,) = [report for report in result.reports if report.name == "MPI_COMM_WORLD"]
    assert report.algorithms == EXPECTED, result.tail()
    assert report.host == ON_HOST
    assert report.reasons == ["algorithm-host"]


def test_a_wrong_file_is_told_once_and_counts_for_nothing(tester, file_of):
    wrong = file_of("wrong", '{"rules": [\n{"collective": "bcast", "algorithm": "rings"}]}')
    words = ["tuned", ",".join([wrong] * RANKS), "100"]
    result = tester.run(usable_mpi("o41"), RANKS, words, sobor={})
    tester.expect_pass(result)
    told = [line for line in result.stderr.splitlines() if "SOBOR_TUNING" in line]
    assert len(told) == 1, result.stderr
    assert f"SOBOR_TUNING: {wrong}: rule 1: algorithm: expected auto, host, slots" in told[0]
    assert 'found "rings"; going on without the file' in told[0]
    assert result.reports[0].algorithms["bcast:slots"] == RANKS


def test_a_variable_overrules_the_file(tester, file_of):
    ours = file_of("ours", RULES)
    words = ["tuned", ",".join([ours] * RANKS), "7", "100000"]
    result = tester.run(usable_mpi("o41"), RANKS, words, sobor={"SOBOR_BCAST_ALGORITHM": "slots"})
    tester.expect_pass(result)
    assert result.reports[0].algorithms == {
        "barrier:counter": 1,
        "bcast:slots": 2 * RANKS,
    }


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_a_rule_may_name_a_baseline(tester, file_of, key):
    rules = [
        {"collective": "barrier", "algorithm": "central"},
        {"collective": "bcast", "algorithm": "numa-pipelined", "tree": "knomial", "slots": 4},
    ]
    ours = file_of("ours", rules)
    words = ["tuned", ",".join([ours] * RANKS), "7", "100000"]
    result = tester.run(usable_mpi(key), RANKS, words, sobor={})
    tester.expect_pass(result)
    assert result.reports[0].algorithms == {
        "barrier:central": 1,
        "bcast:numa-pipelined": 2 * RANKS,
    }, result.tail()
