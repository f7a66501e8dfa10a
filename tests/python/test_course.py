# SPDX-License-Identifier: BSD-3-Clause
"""What a trace says of a program's course: computing between calls, sizes, roots."""

import numpy as np
import pytest

from sobor.model.course import course_of
from sobor.trace.files import CALL, COLLECTIVES, Comm, Trace

MS = 1e6
BARRIER, BCAST = COLLECTIVES.index("barrier"), COLLECTIVES.index("bcast")


def trace_of(*records, seconds=0.1, ranks=2):
    """Records of rank, number, collective, root, bytes, entered and left in ms."""
    calls = np.zeros(len(records), CALL)
    for i, (rank, number, collective, root, size, entered, left) in enumerate(records):
        row = {"rank": rank, "number": number, "collective": collective, "root": root}
        row |= {"bytes": size, "entered": entered * MS, "left": left * MS, "comm": 1}
        for name, value in row.items():
            calls[name][i] = value
    return Trace(
        size=ranks,
        ranks=list(range(ranks)),
        hosts={rank: f"node{rank}" for rank in range(ranks)},
        calls=calls,
        comms=[Comm("others", 0, True), Comm("world", ranks, False)],
        sites=[],
        algorithms=[],
        seconds=dict.fromkeys(range(ranks), seconds),
        clock_error=0.0,
    )


def test_computing_between_calls():
    course = course_of(
        trace_of(
            *((0, 0, BARRIER, -1, 0, 10, 12), (1, 0, BARRIER, -1, 0, 11, 12)),
            *((0, 1, BCAST, 1, 4096, 22, 25), (1, 1, BCAST, 1, 4096, 20, 21)),
        )
    )
    assert [(step.collective, step.size, step.root) for step in course.steps] == [
        ("barrier", 0, -1),
        ("bcast", 4096, 1),
    ]
    assert course.steps[1].gaps == pytest.approx((0.010, 0.008))
    # All but what is in calls, and none of it is lost.
    assert course.computing == pytest.approx(0.2 - (2 + 1 + 3 + 1) * 1e-3)
    assert course.ranks == 2


def test_calls_that_a_rank_has_not():
    """What it computed meanwhile belongs to the next call that it has."""
    course = course_of(
        trace_of(
            *((0, n, BCAST, 0, 8, 10 * n + 10, 10 * n + 11) for n in range(3)),
            *((1, n, BCAST, 0, 8, 10 * n + 10, 10 * n + 11) for n in (0, 2)),
        )
    )
    assert len(course.steps) == 3
    assert [step.gaps[1] for step in course.steps[1:]] == pytest.approx([0.0, 0.019])
    assert course.computing == pytest.approx(0.2 - 5e-3)


def test_sizes_of_a_class():
    """One size for all calls of an operation in a class: the middle one."""
    course = course_of(trace_of(*((0, n, BCAST, 0, 1000 + n, n, n) for n in range(9)), ranks=1))
    assert {step.size for step in course.steps} == {1004}


def test_scaled():
    course = course_of(trace_of((0, 0, BCAST, 0, 8, 10, 12), ranks=1))
    assert course.scaled(2.0).computing == pytest.approx(2 * course.computing)
