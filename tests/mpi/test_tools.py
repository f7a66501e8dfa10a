# SPDX-License-Identifier: BSD-3-Clause
"""A profiling tool and Sobor in one process: the tool sees the user's calls, Sobor serves them."""

from __future__ import annotations

import re
import subprocess

import building
import pytest
from mpis import PRELOAD, WORK

from conftest import usable_mpi


def build_tool(mpi):
    """The tool as a shared object, with the MPI's own compiler."""
    target = WORK / f"tool-{mpi.key}.so"
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            mpi.compilers["c"],
            "-shared",
            "-fPIC",
            str(building.PROGRAMS / "tool.c"),
            "-o",
            str(target),
        ],
        check=True,
    )
    return target


def tool_count(result) -> int:
    """Barriers that the tool says it saw."""
    return int(re.search(r"^tool: (\d+) barriers$", result.stdout, re.MULTILINE).group(1))


@pytest.mark.parametrize("key", ["o41", "m40"])
@pytest.mark.parametrize(
    "order", ["{tool}:{sobor}", "{sobor}:{tool}"], ids=["tool-first", "sobor-first"]
)
def test_both_see_every_barrier(tester, key, order):
    """Whichever is loaded first."""
    mpi = usable_mpi(key)
    program = tester.program(mpi, "basics")
    tool = build_tool(mpi)
    bare = tester.run_command(mpi, 2, [program], environment={"LD_PRELOAD": str(tool)})
    tester.expect_pass(bare)
    preload = order.format(tool=tool, sobor=PRELOAD)
    result = tester.run_command(mpi, 2, [program], sobor={"LD_PRELOAD": preload})
    tester.expect_pass(result)
    assert tool_count(result) == tool_count(bare) > 0
    assert sum(report.barrier for report in result.reports) > 0
