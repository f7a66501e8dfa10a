# SPDX-License-Identifier: BSD-3-Clause
"""The example programs: right results, and as many calls as their method is known to make."""

from __future__ import annotations

import json
import subprocess
import sys

import building
import jobs
import pytest
from mpis import BUILD, REPOSITORY

from conftest import usable_mpi

sys.path.insert(0, str(REPOSITORY / "python"))

from sobor.trace import files

BOTH = pytest.mark.parametrize("key", ["o41", "m40"])


@pytest.fixture
def counted(tester):
    """Runs a command that records; what it wrote, and how many calls of each kind a rank made."""

    def run(key, ranks, command, **settings):
        folder = tester.folder / "trace"
        variables = {"SOBOR_TRACE": str(folder)}
        mpi = usable_mpi(key)
        result = tester.run_command(mpi, ranks, command, sobor=variables, **settings)
        assert result.returncode == 0, result.tail()
        assert "WRONG" not in result.stdout and "right" in result.stdout, result.tail()
        trace = files.read(str(folder))
        assert trace.ranks == list(range(ranks))
        kinds = [files.COLLECTIVES[row["collective"]] for row in trace.calls if row["rank"] == 0]
        return result, {kind: kinds.count(kind) for kind in sorted(set(kinds))}

    return run


@BOTH
def test_asp(counted, key):
    """One broadcast for each row; the reduction is of the times, the rest of the check."""
    program = building.build_example(usable_mpi(key), "asp")
    result, calls = counted(key, 2 if key == "m40" else 3, [program, 193])
    assert "N = 193, 193 broadcasts" in result.stdout
    assert calls == {"allreduce": 1, "bcast": 193, "reduce": 1, "scatterv": 1}


@BOTH
def test_vcc(counted, key):
    """At the published size, with the published number of calls."""
    program = building.build_example(usable_mpi(key), "vcc")
    result, calls = counted(key, 2, [program, 9216])
    assert "252 broadcasts, 252 gathers, 56 barriers" in result.stdout
    assert calls == {"barrier": 56, "bcast": 252, "gather": 252, "reduce": 1}


def test_vcc_of_uneven_parts(counted):
    """Some ranks have fewer vertices than others, the last none."""
    program = building.build_example(usable_mpi("o41"), "vcc")
    result, calls = counted("o41", 4, [program, 9, 6])
    assert calls["bcast"] == calls["gather"] == (4 + 4) * 4 and calls["barrier"] == 4 * 4
    assert "N = 9, 32 broadcasts" in result.stdout


@pytest.mark.parametrize("key", ["o41", "o50"])
def test_asp_in_python(counted, key):
    mpi = usable_mpi(key)
    if mpi.python is None:
        pytest.skip(f"{key} has no Python with mpi4py (.peers)")
    command = [mpi.python, building.EXAMPLES / "asp.py", 97]
    result, calls = counted(key, 2, command, environment=mpi.python_environment)
    assert "N = 97, 97 broadcasts" in result.stdout
    assert calls["bcast"] == 97


def test_a_wrong_argument(tester):
    """Named, with what was expected."""
    mpi = usable_mpi("o41")
    result = tester.run_command(mpi, 1, [building.build_example(mpi, "asp"), "many"])
    assert result.returncode != 0
    assert 'argument 1: expected a number of 1 to 1048576, found "many"' in result.stderr


@pytest.mark.mpis("o41")
def test_study(tester):
    """The stacked times of a real run add up to it, and arrivals are told for each rank."""
    if tester.bare_only:
        pytest.skip("only the bare MPI is asked for")
    mpi = usable_mpi("o41")
    program = building.build_example(mpi, "asp")
    run = " ".join(map(str, [*mpi.command(2, {}), program, 150]))
    found = {}
    for figure in ("asp", "asp-arrival"):
        words = ["study", "application", figure, "--curves", "host", "--json", "-"]
        words += ["--with", "machine=here", "--with", f"command={run}"]
        done = subprocess.run(
            [sys.executable, "-m", "sobor", *words],
            cwd=tester.folder,
            env={
                **jobs.base_environment(),
                **{"PYTHONPATH": str(REPOSITORY / "python"), "SOBOR_PREFIX": str(BUILD)},
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found[figure] = json.loads(done.stdout)
    parts = {row["series"]: row["ours"] for row in found["asp"]}
    assert list(parts) == ["computing", "broadcast", "other collectives"]
    assert all(seconds > 0 for seconds in parts.values()) and sum(parts.values()) < 30
    *ranks, width = found["asp-arrival"]
    assert [row["x"] for row in ranks] == [0, 1]
    assert width["x"] == "host" and width["ours"] > 0
