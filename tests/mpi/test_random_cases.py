# SPDX-License-Identifier: BSD-3-Clause
"""Random cases in which a host fails by itself are left out and named; Sobor's failures are not.

The jobs are made up: they fail where it is said.
"""

from __future__ import annotations

import jobs
import pytest
from random_cases import BARE_TRIES, run_drawn

import conftest

CASES = 1000


class MadeUp(conftest.Tester):
    """Jobs that fail in some cases with Sobor, and in some on the host, whoever calls it."""

    def __init__(self, sobor=(), host=(), together=(), tries=1, slow=()):
        super().__init__(None, False)
        self.sobor, self.host, self.together = set(sobor), set(host), set(together)
        self.tries = tries  # so many bare runs until the host fails
        self.slow = slow  # of bare runs one after the other, again and again: which take too long
        self.bare_runs = 0
        self.passed = set()

    def fails(self, row, bare):
        """Whether a job with these cases does."""
        wrong = bool(row & self.host) or (bool(self.together) and self.together <= row)
        if not bare:
            return wrong or bool(row & self.sobor)
        self.tries -= 1
        return wrong and self.tries <= 0

    def start(self, words, bare, timeout):
        """The result of a job."""
        first, cases = (words[words.index(name) + 1] for name in ("--first", "--cases"))
        row = set(range(first, first + cases))
        words = list(map(str, words))
        assert timeout >= 60
        self.bare_runs += bare
        if bare and self.slow and self.slow[self.bare_runs % len(self.slow)]:
            return jobs.Result(words, -15, "", "", 60.0, True)
        if self.fails(row, bare):
            return jobs.Result(words, 1, "", f"FAIL among {first} to {max(row)}", 1.0, False)
        self.passed |= row if not bare else set()
        return jobs.Result(words, 0, f"cases {cases}\nPASS made up\n", "", 1.0, False)

    def run_drawn(self, **how):
        """All of the cases."""
        drawn = {"seed": 7, "max_bytes": 100, "timeout": 300}
        return run_drawn(self, self.start, ["made", "--up", "yes"], CASES, **drawn, **how)


def test_all_pass():
    """One job, and nothing to say."""
    tester = MadeUp()
    assert tester.run_drawn().seconds == 1.0
    tester.say_left_out()


@pytest.mark.parametrize("failing", [{0}, {5, 700}, {998, 999}])
def test_host_fails(failing):
    """All other cases are run with Sobor, and the test says which were not."""
    tester = MadeUp(host=failing)
    tester.expect_pass(tester.run_drawn())
    assert tester.passed == set(range(CASES)) - failing
    with pytest.raises(pytest.skip.Exception) as said:
        tester.say_left_out()
    numbers = ", ".join(map(str, sorted(failing)))
    line = f"the bare host fails by itself: made --seed 7 --max-bytes 100 --up yes, {numbers}"
    assert said.value.msg == line


def test_host_fails_in_all():
    """Nothing can be said of Sobor."""
    with pytest.raises(pytest.skip.Exception, match=r"the bare host fails by itself.*, 998, 999$"):
        MadeUp(host=range(CASES)).run_drawn()


@pytest.mark.parametrize("sobor", [0, 699, 701, 999])
@pytest.mark.parametrize("host", [[], [700], range(0, CASES, 100)], ids=["right", "one", "ten"])
def test_sobor_fails(sobor, host):
    """It is found beside whatever the host fails in, unless that is the same case."""
    tester = MadeUp(sobor={sobor}, host=host)
    if sobor in host:
        tester.run_drawn()
        assert tester.left_out
        return
    with pytest.raises(AssertionError, match="FAIL among"):
        tester.run_drawn()


def test_host_fails_at_times():
    """The bare host is asked again before its failure counts as Sobor's."""
    tester = MadeUp(host={3}, tries=BARE_TRIES)
    tester.run_drawn()
    assert tester.left_out
    with pytest.raises(AssertionError):
        MadeUp(host={3}, tries=BARE_TRIES + 1).run_drawn()


@pytest.mark.parametrize("slow", [[True], [True, False], [False, False, True]])
def test_host_takes_too_long(slow):
    """A bare run that was ended says nothing of the host, and excuses nothing."""
    with pytest.raises(AssertionError, match="FAIL among"):
        MadeUp(sobor={3}, slow=slow).run_drawn()


def test_host_fails_where_it_has_time():
    """One that was ended is no reason not to ask again."""
    tester = MadeUp(host={3}, slow=[False] + [True] * (BARE_TRIES - 1))
    tester.run_drawn()
    assert tester.left_out


def test_host_fails_behind_others():
    """Where no case fails alone, all are run with Sobor and the row is named."""
    tester = MadeUp(together={100, 900})
    tester.run_drawn()
    assert tester.passed == set(range(CASES))
    assert tester.left_out[0].endswith(", 0 to 999 in one job")


def test_bare():
    """Where the host alone is tested it is no excuse."""
    with pytest.raises(AssertionError):
        MadeUp(host={3}).run_drawn(bare=True)
