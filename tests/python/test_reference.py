# SPDX-License-Identifier: BSD-3-Clause
"""The reference pages say what the code says."""

import os
import subprocess
import sys

from conftest import ROOT


def test_pages_are_up_to_date(real_native):
    result = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "write_reference.py"), "--check"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
