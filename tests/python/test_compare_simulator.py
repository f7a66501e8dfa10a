# SPDX-License-Identifier: BSD-3-Clause
"""scripts/compare_simulator.py runs the command of its checkout."""

import importlib.util

from conftest import ROOT


def test_runs_the_command():
    path = ROOT / "scripts" / "compare_simulator.py"
    spec = importlib.util.spec_from_file_location("compare_simulator", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.sobor("--version").startswith("sobor ")
