# SPDX-License-Identifier: BSD-3-Clause
"""Trials of host and Sobor: wrong measurements are corrected, people obeyed, ranks agreed.

A made-up host is slower by a known time, many times what any of these calls takes; Sobor is made
slow by a queue that takes one byte at a time.
"""

from __future__ import annotations

import json
import re

import building
import mpis
import pytest
import random_cases

from conftest import usable_mpi

MOVING = "scatter scatterv gather gatherv allgather allgatherv alltoall alltoallv alltoallw bcast"
MOVING = MOVING.split()
#: Microseconds.
SLOWER = "3000"
#: Within so many calls what is wrong is corrected.
CORRECTED = 200
#: Calls of two trials by the slower side.
TWO_TRIALS = 20
QUEUED = ["scatterv", "gatherv", "allgatherv"]
SLOW_QUEUES = {"SOBOR_QUEUE_SLOTS": "1", "SOBOR_QUEUE_SETS": "1", "SOBOR_QUEUE_FRAGMENT": "1"}
#: For which such a queue takes many times as long as the host.
MANY = 512
#: So few that the slow queue stays far ahead of a host that is slowed by so many microseconds.
FEW, FAR_SLOWER = 32, "20000"
#: So that as many calls as possible are part of one.
OFTEN = {"SOBOR_TRIALS": "on", "SOBOR_TRIAL_REST": "1"}


@pytest.fixture
def run(tester, tmp_path):
    """Runs calls of each operation by rules; gives what served each of them, and the report."""

    def start(key, rules, *words, **variables):
        mpi = usable_mpi(key)
        path = tmp_path / "rules.json"
        path.write_text(json.dumps({"rules": rules}))
        between = building.build_between(mpi, "host")
        preload = f"{mpis.PRELOAD}:{between}"
        settings = {"SOBOR_TUNING": str(path), "LD_PRELOAD": preload, **variables}
        result = tester.run(mpi, 2, ["trials", *map(str, words)], sobor=settings, timeout=120)
        tester.expect_pass(result)
        found = re.findall(r"^SIDES (\w+) ([Sh]+)$", result.stdout, re.MULTILINE)
        sides = {name.lower(): served for name, served in found}
        assert list(sides) == MOVING, result.tail()
        (report,) = result.reports
        return sides, report

    return start


def rules_for(algorithm, names=MOVING, **more):
    """A rule for each operation."""
    return [{"collective": name, "algorithm": algorithm, **more} for name in names]


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_a_measured_rule_for_the_host_is_corrected(run, key):
    """It says that the host is faster, which is not true."""
    rules = rules_for("host", measured=True)
    sides, report = run(key, rules, 2 * CORRECTED, 64, HOST_SLOW=SLOWER)
    for name, served in sides.items():
        assert served.startswith("h" * 15), (name, served)
        assert served.count("h", CORRECTED) <= TWO_TRIALS, (name, served)
    assert report.reasons[0] == "algorithm-host" and set(report.reasons[1:]) <= {"trial"}


# A host that gives way beside other work is slower than the queue.
@pytest.mark.host_spins
@pytest.mark.parametrize("key", ["o41", "m40"])
def test_a_measured_rule_for_sobor_is_corrected(run, key):
    """The algorithm that it names is slower than the host."""
    rules = rules_for("queued", QUEUED, measured=True)
    sides, report = run(key, rules, 2 * CORRECTED, MANY, **SLOW_QUEUES)
    for name in QUEUED:
        served = sides[name]
        assert served.startswith("S" * 15), (name, served)
        assert served.count("S", CORRECTED) <= TWO_TRIALS, (name, served)
    assert {"S"} == {side for name in set(MOVING) - set(QUEUED) for side in sides[name]}
    assert report.by_trial == report.host == "".join(sides.values()).count("h")
    assert report.reasons == ["trial", "host-faster"]


def test_a_person_is_obeyed(run):
    """By a rule without the mark, and by a variable, whatever that costs."""
    often = {**OFTEN, **SLOW_QUEUES}
    obeyed = {f"SOBOR_{name.upper()}_ALGORITHM": "queued" for name in QUEUED}
    lies = rules_for("host", QUEUED, measured=True)
    for rules, variables in ((rules_for("queued", QUEUED), {}), (lies, obeyed)):
        sides, _ = run("o41", rules, 50, FEW, **often, **variables)
        assert {"S"} == {side for name in QUEUED for side in sides[name]}, sides
    obeyed = {f"SOBOR_{name.upper()}_ALGORITHM": "host" for name in MOVING}
    for rules, variables in ((rules_for("host"), {}), ([], obeyed)):
        sides, report = run("o41", rules, 40, 64, HOST_SLOW="100", **OFTEN, **variables)
        assert set("".join(sides.values())) == {"h"}, sides
        assert "by_trial" not in report.values


def test_off(run):
    """Then a measured rule is obeyed too."""
    rules = rules_for("host", measured=True)
    sides, report = run("o41", rules, 40, 64, HOST_SLOW="100", SOBOR_TRIALS="off")
    assert set("".join(sides.values())) == {"h"}
    assert report.reasons == ["algorithm-host"] and "by_trial" not in report.values


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_on_tries_what_no_rule_is_for(run, key):
    """The slower host gets the calls of trials alone; the report counts them."""
    sides, report = run(key, [], CORRECTED, 64, HOST_SLOW=SLOWER, SOBOR_TRIALS="on")
    for name, served in sides.items():
        assert 10 <= served.count("h") <= 2 * TWO_TRIALS, (name, served)
    assert report.reasons[0] == "trial"
    assert report.by_trial == report.host == "".join(sides.values()).count("h")


@pytest.mark.host_spins
def test_a_machine_may_change_its_mind(run):
    """First the host is faster, from the middle on Sobor, though it is slow."""
    rules = rules_for("queued", ["gatherv"], measured=True)
    words = (2 * CORRECTED, FEW, FAR_SLOWER)
    sides, report = run("o41", rules, *words, SOBOR_TRIAL_REST="20", **SLOW_QUEUES)
    served = sides["gatherv"]
    assert served.count("h", 100, CORRECTED) > 50, served
    assert served.count("S", CORRECTED + 100) > 50, served
    assert "host-faster" in report.reasons


@pytest.mark.parametrize(
    ("key", "ranks", "calls"),
    [("o41", 2, 4000), ("o41", 4, 2000), ("m40", 2, 4000), ("m40", 3, 200), ("a50", 2, 2000)],
)
def test_random_calls(tester, long_run, key, ranks, calls):
    """Operations, sizes and communicators by turns, ranks that are late; all go the same way."""
    for seed in range(random_cases.SEED, random_cases.SEED + (10 if long_run else 1)):
        words = ["trials", str(calls), "5000", "random", str(seed)]
        result = tester.run(usable_mpi(key), ranks, words, sobor=OFTEN, timeout=120)
        tester.expect_pass(result)
        tried = sum(int(report.values.get("by_trial", 0)) for report in result.reports)
        # A host that is far slower is given up with its second sample.
        assert calls / 20 < tried < calls, result.tail()


@pytest.mark.parametrize("program", ["differential", "parts"])
@pytest.mark.parametrize(("key", "ranks"), [("o41", 4), ("m40", 2)])
def test_random_cases(tester, program, key, ranks):
    """Communicators that come and go, every kind of type and layout."""
    result = random_cases.run_cases(tester, [program], key, ranks, 400, OFTEN, max_bytes=16)
    assert " by_trial=" in result.stderr, result.tail()


@pytest.mark.parametrize("key", ["o41", "m40"])
@pytest.mark.parametrize(
    "program", ["threads", "errors", "in_place", "communicators", "mixed", "handlers"]
)
def test_programs(tester, key, program):
    """Threads with a communicator each; errors that all ranks make; calls in place."""
    result = tester.run(usable_mpi(key), 3, [program], sobor=OFTEN, timeout=120)
    tester.expect_pass(result)


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_handler_frees(tester, key):
    """An error handler that frees the communicator, in a call of either side."""
    words = ["handler_frees", "24"]
    tester.expect_pass(tester.run(usable_mpi(key), 2, words))
    result = tester.run(usable_mpi(key), 2, words, sobor=OFTEN)
    tester.expect_pass(result)
    assert " by_trial=" in result.stderr, result.tail()
