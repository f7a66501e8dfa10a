# SPDX-License-Identifier: BSD-3-Clause
"""Lines of reports that a launcher has mixed are told from whole ones; who hangs is said where."""

from __future__ import annotations

import shutil

import pytest
from jobs import Job, parse_reports

FIRST = (
    "sobor: comm name=- size=4 where=shm barrier=0 bcast=2 gather=3 bytes=24 host=0 time_us=1.5 "
    "algorithms=bcast:slots=1,bcast:ring=1,gather:p2p-linear=3 reason=-"
)
OTHER = (
    "sobor: comm name=- size=3 where=shm barrier=1 bcast=0 scan=2 bytes=24 host=0 time_us=1.5 "
    "algorithms=barrier:flat=1,scan:slots=2 reason=-"
)
SUM = (
    "sobor: comm name=(59_more) size=0 where=shm barrier=0 bcast=79 bytes=9 host=4 time_us=0.0 "
    "algorithms=- reason=size-1"
)


def test_whole_lines():
    """Each is read, also a sum of communicators, which names no algorithm."""
    first, other, more = parse_reports("\n".join(["noise", FIRST, OTHER, SUM, ""]))
    assert first.algorithms == {"bcast:slots": 1, "bcast:ring": 1, "gather:p2p-linear": 3}
    assert other.calls == {"barrier": 1, "bcast": 0, "scan": 2}
    assert more.calls == {"barrier": 0, "bcast": 79}


def test_mixed_lines():
    """One that begins as one rank's and ends as another's has algorithms that did not run."""
    at = FIRST.index("-linear")
    mixed = FIRST[:at] + OTHER[OTHER.index("s=2 reason") :]
    assert "gather:p2ps=2 reason" in mixed
    assert parse_reports(f"{mixed}\n{OTHER}\n{FIRST[at:]}\n") == parse_reports(f"{OTHER}\n")


@pytest.mark.skipif(shutil.which("gdb") is None, reason="no gdb")
def test_where_it_hangs(tmp_path):
    """A job that takes too long is ended, and its message has the calls of its processes."""
    program = "import time; time.sleep(60)"
    result = Job(["python3", "-c", program], {"PATH": "/usr/bin:/bin"}, tmp_path).wait(1)
    assert result.timed_out
    assert " python3: S, in " in result.tail()
    assert "#0 " in result.tail().partition("where its processes were")[2]
