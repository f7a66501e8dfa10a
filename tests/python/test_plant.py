# SPDX-License-Identifier: BSD-3-Clause
"""tests/faults/plant.py: a machine that is too slow finds no fault."""

import importlib.util
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
