# SPDX-License-Identifier: BSD-3-Clause
"""scripts/list_requirements.py, which runs before there is any package."""

import subprocess
import sys

import pytest

from conftest import ROOT

SCRIPT = ROOT / "scripts" / "list_requirements.py"
#: What Python 3.10 of a system without pip does not have.
WITHOUT = "import runpy, sys; sys.modules |= {'tomllib': None, 'pip': None}; del sys.argv[0];"


def listed(*groups: str) -> subprocess.CompletedProcess:
    words = ["-c", f"{WITHOUT} runpy.run_path(sys.argv[0])", SCRIPT, *groups]
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)


def test_lists_what_is_asked_for():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = project["optional-dependencies"]
    assert listed().stdout.split() == project["dependencies"]
    everything = [*project["dependencies"], *(word for each in groups.values() for word in each)]
    assert listed(*groups).stdout.split() == everything


def test_an_unknown_group():
    answer = listed("no-such-group")
    assert answer.returncode == 1 and "a list no-such-group" in answer.stderr
