# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that the library has and the command too."""

import re

import pytest

from conftest import ROOT
from sobor import tuning
from sobor.doctor import heap, leftovers
from sobor.profile import files


@pytest.mark.parametrize(
    ("source", "name", "number"),
    [
        ("team/rules.h", "SB_RULES_MOST", tuning.RULES_MOST),
        ("heap/arena.h", "SB_HEAP_ARENA_BYTES", heap.ARENA),
        ("segment/board.c", "FOUNDED_WITHIN", leftovers.FOUNDED_WITHIN),
        ("trace/trace.h", "SB_TRACE_VERSION", files.VERSION),
        ("trace/profile.c", "ALL_KEPT_LOG2", files.ALL_KEPT.bit_length() - 1),
    ],
)
def test_the_library_has_the_same(source, name, number):
    text = (ROOT / "src" / source).read_text()
    found = re.search(rf"\b{name} (?:= )?(?:\(\(size_t\))?(\d+)(?: << (\d+))?", text)
    assert int(found[1]) << int(found[2] or 0) == number
