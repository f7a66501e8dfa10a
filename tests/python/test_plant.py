# SPDX-License-Identifier: BSD-3-Clause
"""tests/faults/plant.py: a machine that is too slow, or has too few processors, finds no fault;
what a fault leaves in /dev/shm is removed; and of several that are not found each is named."""

import importlib.util
import os
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import ROOT

HANGS = "AssertionError: mpirun ...\ntimed out after 8.0 s\nFAILED test_x.py::test_y\n"
FAILS = "AssertionError: mpirun ...\nexit code 1 after 2.0 s\nFAILED test_x.py::test_y\n"
PASSES = "1 passed in 0.1s\n"


@pytest.fixture
def plant(monkeypatch):
    path = ROOT / "tests" / "faults" / "plant.py"
    spec = importlib.util.spec_from_file_location("plant", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "plant", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("expect", ["FAILED", "AssertionError", "timed out after", "exit code"])
@pytest.mark.parametrize(
    ("wrong", "right", "found"),
    [
        (HANGS, PASSES, ["FAILED", "AssertionError", "timed out after"]),
        (HANGS, HANGS, []),
        (FAILS, HANGS, ["FAILED", "AssertionError", "exit code"]),
        (PASSES, PASSES, []),
    ],
)
def test_what_finds_a_fault(plant, monkeypatch, tmp_path, expect, wrong, right, found):
    build = SimpleNamespace(folder=Path("right"), preload=lambda *_: Path("wrong"))
    fault = plant.Fault("made-up", by=["mpi", "test_x.py"], expect=expect)
    real = plant.subprocess.Popen

    def start(_words, env, **options):
        text = {"wrong": wrong, "right": right}[env["SOBOR_BUILD"]]
        return real(["printf", "%s", text], env=env, **options)

    monkeypatch.setattr(plant.subprocess, "Popen", start)
    assert plant.look_for(fault, build, []) == (expect in found)


@pytest.mark.parametrize("allowed", [{3}, {3, 5}, {0, 2, 3, 7, 9}])
@pytest.mark.parametrize("pid", [6, 7])
@pytest.mark.parametrize("finds", [True, False])
def test_programs_that_fork_run_on_two_processors(plant, monkeypatch, allowed, pid, finds):
    bound = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: allowed)
    monkeypatch.setattr(os, "sched_setaffinity", lambda _pid, some: bound.append(set(some)))
    monkeypatch.setattr(os, "getpid", lambda: pid)
    said = {True: "FAILED", False: ""}
    monkeypatch.setattr(plant, "report", lambda *_: said[finds and len(bound[-1]) == 2])
    build = SimpleNamespace(copy=Path(), folder=Path(), program=lambda *_: Path("program"))
    fault = plant.Fault("made-up", by=["fork", "parts", "1", "rows"], expect="FAILED")
    if len(allowed) == 1:
        with pytest.raises(plant.LeftOut):
            plant.look_for(fault, build, [])
    else:
        assert plant.look_for(fault, build, []) is finds
    assert bound[0] <= allowed and len(bound[0]) == min(len(allowed), 2)
    assert bound[1:] == [allowed]  # as before, for what comes next
    neighbours = sorted(allowed)
    assert sorted(bound[0]) in (neighbours[:2], neighbours[2:4])


@pytest.mark.parametrize(("right", "found"), [("ok\n", True), ("a rank timed out\n", False)])
def test_forked_ranks_that_hang(plant, monkeypatch, right, found):
    """They are ended soon, and the same with what is right must not be."""
    said = {Path("wrong"): "a rank timed out\nx: FAILED\n", Path("right/tests/fork_parts"): right}
    report = lambda words, *_: said[words[0]] if "timed out" in said[words[0]] else ""  # noqa: E731
    monkeypatch.setattr(plant, "report", report)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    monkeypatch.setattr(os, "sched_setaffinity", lambda _pid, _some: None)
    build = SimpleNamespace(copy=Path(), folder=Path("right"), program=lambda *_: Path("wrong"))
    fault = plant.Fault("made-up", by=["fork", "parts", "1", "rows"], expect="FAILED")
    assert plant.look_for(fault, build, []) is found


@pytest.mark.parametrize("line", ["", "Seconds: 40\n"])
def test_how_long_a_job_may_take(plant, monkeypatch, tmp_path, line):
    path = tmp_path / "made-up.fault"
    path.write_text(f"Wrong.\n\nIn: a.c\nFind: a\nPut: b\nBy: mpi x.py\nExpect: FAILED\n{line}")
    given = []
    monkeypatch.setattr(plant, "report", lambda *words, **_: given.append(words[2]) or "")
    build = SimpleNamespace(folder=Path("right"), preload=lambda *_: Path("wrong"))
    plant.look_for(plant.read_fault(path), build, [])
    assert given[0]["SOBOR_TEST_SECONDS"] == ("40" if line else str(plant.HANGS))


def test_names_of_the_dead_are_removed(plant, monkeypatch, tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    here = os.stat("/proc/self/ns/pid").st_ino
    boards = {
        f"sobor.board.{here}.dead": ended.pid,
        f"sobor.board.{here}.alive": os.getpid(),
        f"sobor.board.{here}.nobody": 0,
        f"sobor.board.{here + 1}.elsewhere": ended.pid,
    }
    for name, founder in boards.items():
        (tmp_path / name).write_bytes(struct.pack("QQ", founder, 1))
    regions = [f"sobor.{ended.pid}.{here}.dead", f"sobor.{os.getpid()}.{here}.alive"]
    for name in [*regions, f"sobor.board.{here}.empty", "sobor.other"]:
        (tmp_path / name).touch()
    before = {path.name for path in tmp_path.iterdir()}
    monkeypatch.setattr(plant, "SHARED", tmp_path)
    plant.sweep()
    left = {path.name for path in tmp_path.iterdir()}
    assert before - left == {f"sobor.board.{here}.dead", f"sobor.{ended.pid}.{here}.dead"}


@pytest.mark.parametrize("long", [None, "0", "1"])
@pytest.mark.parametrize(
    ("faults", "code"),
    [
        (["found", "also-found"], 0),
        (["found", "skipped", "found-long"], 0),
        (["skipped", "skipped-too"], 77),
        (["skipped", "found-long"], {"1": 0}),
        (["skipped", "missed", "unfit", "found"], 1),
        (["found", "missed-long"], {"1": 1, "0": 0}),
    ],
)
def test_several_faults(plant, monkeypatch, capsys, tmp_path, faults, code, long):
    """Only what is not found is an error, and is named; only where all are left out, all are."""
    monkeypatch.setattr(plant, "Build", lambda folder: SimpleNamespace(folder=folder))
    monkeypatch.delenv("SOBOR_TEST_LONG", raising=False)
    if long is not None:
        monkeypatch.setenv("SOBOR_TEST_LONG", long)

    def find_planted(fault, _build):
        if fault.name.startswith("skipped"):
            raise plant.LeftOut("no such MPI")
        if fault.name == "unfit":
            raise plant.Unfit("expected once")
        return not fault.name.startswith("missed")

    monkeypatch.setattr(plant, "find_planted", find_planted)
    paths = [tmp_path / f"{name}.fault" for name in faults]
    for path in paths:
        form = "Form: long\n" if path.stem.endswith("long") else ""
        path.write_text(f"Wrong.\n\nIn: a.c\nFind: a\nPut: b\nBy: sim\nExpect: race\n{form}")
    monkeypatch.setattr(sys, "argv", ["plant.py", *map(str, paths), "--build", str(tmp_path)])
    if isinstance(code, dict):
        code = code.get(long or "0", 77)
    assert plant.main() == code
    said = capsys.readouterr().out
    for path in paths:
        missed = path.stem in ("missed", "unfit") or (path.stem == "missed-long" and long == "1")
        assert (f"plant.py {path} --build" in said) == missed
        assert (f"{path.name}: left out: " in said) == (
            path.stem.startswith("skipped") or (path.stem.endswith("long") and long != "1")
        )
