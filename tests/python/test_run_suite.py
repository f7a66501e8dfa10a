# SPDX-License-Identifier: BSD-3-Clause
"""scripts/run_suite.py: the lists of tests, and what counts as passed."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "run_suite.py"


@pytest.fixture(scope="module")
def suite():
    """The script as a module."""
    before = list(sys.path)
    spec = importlib.util.spec_from_file_location("run_suite", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["run_suite"] = module
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before


def test_usage(suite, monkeypatch):
    """The command lines of the docstring are taken, folders after options too."""
    usages = [
        line.split()[2:] for line in suite.__doc__.splitlines() if "scripts/run_suite" in line
    ]
    assert len(usages) == 3
    read = []
    for words in usages:
        monkeypatch.setattr(sys, "argv", ["run_suite.py", *words])
        read.append(suite.read_arguments())
    assert [r.folders for r in read] == [["coll", "comm", "errors/coll"], ["coll"], ["coll"]]
    assert [r.mpi for r in read] == ["o41", "m40", "o41"]
    assert (read[1].most, read[1].set, read[2].each_algorithm) == (4, ["CMA=off"], True)
    monkeypatch.setattr(sys, "argv", ["run_suite.py", "SOURCE"])
    assert suite.read_arguments().folders == ["."]


def test_lines(suite):
    """A line names the program, its ranks, its arguments and its variables."""
    case = suite.read_line("coll", "allred 7 arg=-count=10 env=A=b=c timeLimit=30 # why", 0, True)
    assert (case.folder, case.program, case.ranks) == ("coll", "allred", 7)
    assert case.arguments == ("-count=10",)
    assert case.environment == (("A", "b=c"),)
    assert case.seconds == 30
    assert suite.read_line("coll", "bcast", 0, True).ranks == suite.RANKS
    assert suite.read_line("coll", "bcast 10", 4, True).ranks == 4


@pytest.mark.parametrize("line", ["", "# allred 4", "!../util:all"])
def test_lines_without_a_test(suite, line):
    """Comments and what is to be built first."""
    assert suite.read_line("coll", line, 0, True) is None


def test_lines_for_others(suite):
    """Extensions are for MPICH alone, what is expected to fail there is for the others."""
    assert suite.read_line("coll", "p_bcast 4 strict=false", 0, True) is None
    assert suite.read_line("coll", "p_bcast 4 strict=false", 0, False) is not None
    assert suite.read_line("errors/datatype", "type_lb_nullarg 1 strict=FALSE", 0, True) is None
    assert suite.read_line("errors", "reduceop 4 xfail=ticket1", 0, False) is None
    assert suite.read_line("errors", "reduceop 4 xfail=ticket1", 0, True) is not None


def test_folders(suite, tmp_path):
    """A list names folders too; those of the build come before those of the source."""
    build, source = tmp_path / "build", tmp_path / "source"
    for folder in (build / "coll", build / "errors/coll", source / "coll", source / "errors/coll"):
        folder.mkdir(parents=True)
    (build / "testlist").write_text("coll\n#rma\nerrors\n")
    (build / "coll/testlist").write_text("allred 4\n")
    (source / "coll/testlist").write_text("other 4\n")
    (source / "errors/testlist").write_text("coll\n")
    (source / "errors/coll/testlist").write_text("noalias 2\n")
    found = [str(case) for case in suite.read_cases(build, source, ".", 0, True)]
    assert found == ["coll/allred 4", "errors/coll/noalias 2"]


@pytest.mark.parametrize(
    ("judge", "status", "text", "word"),
    [
        ("", 0, " No Errors\n", "pass"),
        ("", 0, " No Errors\nsobor: comm name=MPI_COMM_WORLD size=2 ...\n", "pass"),
        ("", 0, " No Errors\nsobor: heap rank=0 blocks=3 ...\n", "pass"),
        ("", 0, "", "fail"),
        ("", 1, " No Errors\n", "fail"),
        ("", 0, " No Errors\nsobor: something\n", "fail"),
        ("", 0, "Found 2 errors\n", "fail"),
        ("TestStatus", 1, "aborted\n", "pass"),
        ("TestStatus", 0, "", "fail"),
        ("TestErrFatal", 1, "", "pass"),
        ("TestStatusNoErrors", 1, "No Errors\n", "pass"),
        ("TestStatusNoErrors", 0, "No Errors\n", "fail"),
    ],
)
def test_verdict(suite, judge, status, text, word):
    """As the suite's own script has it; Sobor's report is not the test's output."""
    case = suite.Case("coll", "allred", 2, judge=judge)
    result = suite.jobs.Result(["x"], status, text, "", 1.0, False)
    assert suite.judge(case, result).word == word


def test_late(suite):
    """What takes too long is told apart."""
    result = suite.jobs.Result(["x"], -15, "", "", 1.0, True)
    assert suite.judge(suite.Case("coll", "allred", 2), result).word == "timeout"


@pytest.mark.parametrize(
    "cut", ["barrier:flat", "barrier:flat=1,", "barrier:flat=1,bcast:slots:4=2"]
)
def test_reports_that_a_launcher_cut(suite, cut):
    """What is left of a line that another was put into tells of no call."""
    counts = "barrier=1 bcast=2 bytes=8 host=0 time_us=1.0"
    served = "barrier:flat=1,bcast:slots=2"
    whole = f"sobor: comm name=world size=5 where=shm {counts} algorithms={served} reason=-"
    (report,) = suite.jobs.parse_reports(f"{whole.replace(served, cut)}\n{whole}\n")
    assert report.algorithms == {"barrier:flat": 1, "bcast:slots": 2}
