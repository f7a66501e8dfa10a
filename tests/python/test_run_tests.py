# SPDX-License-Identifier: BSD-3-Clause
"""scripts/run_tests.sh: what it says at the end of tests that ran twice, and of what was left out.

ctest is made up: it writes the log.
"""

import os
import subprocess

import pytest

from conftest import ROOT

BLOCK = """{number}/9 Testing: {name}
{number}/9 Test: {name}
Command: "/build/tests/{name}"
Directory: /build
"{name}" start time: Nov 29 01:27 UTC
Output:
----------------------------------------------------------
{output}
<end of output>
Test time =   0.10 sec
----------------------------------------------------------
Test {state}.
"{name}" end time: Nov 29 01:27 UTC
"{name}" time elapsed: 00:00:00
----------------------------------------------------------

"""
HOSTS = """sss.                                                   [100%]
=========================== short test summary info ============================
SKIPPED [2] test_hosts.py:272: no network namespaces: not root
SKIPPED [1] test_hosts.py:294: only with SOBOR_TEST_LONG=1
1 passed, 3 skipped in 1.00s"""
FAULTS = "SKIPPED [4] ../faults/test_x.py:7: no network namespaces: not root\n4 skipped in 0.10s"
SEGMENT = """[==========] tests: Running 3 test(s).
[ RUN      ] said
left out: only for root
[  SKIPPED ] said
[ RUN      ] fine
[       OK ] fine
[ RUN      ] unsaid
[  SKIPPED ] unsaid
[==========] tests: 3 test(s) run.
[  PASSED  ] 1 test(s).
[  SKIPPED ] 2 test(s), listed below:
[  SKIPPED ] said
[  SKIPPED ] unsaid

 2 SKIPPED TEST(S)"""
PARTS = "alltoall     places that may be far    2 ranks: left out: one processor\nalltoall  ok"


@pytest.fixture
def run(tmp_path):
    """The output of the script, with a log of such tests, and with ctest's exit code."""
    build = tmp_path / "build"
    (build / "Testing" / "Temporary").mkdir(parents=True)
    log = build / "Testing" / "Temporary" / "LastTest.log"

    def run(*tests, configured="", code=0):
        blocks = (
            BLOCK.format(number=i, name=name, output=output, state=state)
            for i, (name, output, state) in enumerate(tests, 1)
        )
        (tmp_path / "log").write_text("".join(blocks))
        (build / "configure.log").write_text(configured)
        ctest = tmp_path / "ctest"
        lines = ["#!/bin/sh", 'echo "$@"', f"env | grep ^SOBOR | sort >{tmp_path}/env"]
        lines += [f"cp {tmp_path}/log {log}", f"exit {code}"]
        ctest.write_text("\n".join(lines))
        ctest.chmod(0o755)
        done = subprocess.run(
            [ROOT / "scripts" / "run_tests.sh", build, "-j", "7"],
            env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (code, "")
        first, _, rest = done.stdout.partition("\n")
        assert first.startswith(f"--test-dir {build} ") and first.endswith(" -j 7")
        return rest

    return run


@pytest.mark.parametrize("code", [0, 8])
def test_all_pass(run, code):
    assert run(("unit.one", "fine", "Passed"), ("unit.two", "", "Passed"), code=code) == ""


def test_run_twice(run):
    tests = [("unit.a", "", "Failed"), ("unit.b", "", "Passed"), ("unit.a", "", "Passed")]
    assert run(*tests) == "\nFailed, and were run once more:\n  unit.a\n"


def test_what_was_left_out(run):
    said = run(
        ("mpi.hosts", HOSTS, "Passed"),
        ("mpi.faults", FAULTS, "Passed"),
        ("unit.segment", SEGMENT, "Passed"),
        ("fork.parts", PARTS, "Passed"),
        configured="-- Found cmocka\n-- tests of the heap beside x are left out: it is not there\n",
    )
    assert said.splitlines() == [
        "",
        "Left out, the number of parts and why:",
        "    6  no network namespaces: not root (mpi.hosts, mpi.faults)",
        "    1  one processor (fork.parts)",
        "    1  only for root (unit.segment)",
        "    1  only with SOBOR_TEST_LONG=1 (mpi.hosts)",
        "    1  unsaid (unit.segment)",
        "    -  tests of the heap beside x are left out: it is not there",
    ]


def test_only_the_last_run_of_a_test_counts(run):
    said = run(
        ("unit.segment", SEGMENT, "Failed"),
        ("mpi.hosts", HOSTS + "\nleft out: once alone", "Failed"),
        ("unit.segment", SEGMENT, "Passed"),
        ("mpi.hosts", HOSTS, "Passed"),
    )
    assert [line.split()[0] for line in said.splitlines()[2:6]] == ["2", "1", "1", "1"]
    assert "once alone" not in said
    assert said.endswith("\n\nFailed, and were run once more:\n  unit.segment\n  mpi.hosts\n")


def test_many_tests_of_one_reason(run):
    said = run(*((f"mpi.{name}", FAULTS, "Passed") for name in "abcde"))
    assert said.endswith(
        "   20  no network namespaces: not root (mpi.a, mpi.b, mpi.c and 2 more)\n"
    )


def test_settings_of_programs_are_not_those_of_tests(run, monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("SOBOR")]:
        monkeypatch.delenv(name)
    for name in ("SOBOR", "SOBOR_VERBOSE", "SOBOR_BUILD", "SOBOR_PYTHON", "SOBOR_TEST_LONG"):
        monkeypatch.setenv(name, "0")
    run(("unit.one", "fine", "Passed"))
    assert (tmp_path / "env").read_text() == "SOBOR_PYTHON=0\nSOBOR_TEST_LONG=0\n"
