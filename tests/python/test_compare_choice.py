# SPDX-License-Identifier: BSD-3-Clause
"""scripts/compare_choice.py: a run of hours that is ended at any moment has kept what it has."""

import json
import os
import signal
import subprocess
import sys
import time

from conftest import ROOT

PATIENCE = 120


def test_ended_run_keeps_its_times(real_native, tmp_path):
    """What was simulated is in the file at once: nothing is left to do at the end."""
    times = tmp_path / "times.json"
    command = [sys.executable, str(ROOT / "scripts" / "compare_choice.py"), "--check"]
    run = subprocess.Popen(
        [*command, "--times", str(times)],
        env={**os.environ, "SOBOR_PREFIX": str(real_native.prefix)},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + PATIENCE
        while not times.exists() and run.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    assert times.exists()
    kept = json.loads(times.read_text(encoding="utf-8"))
    assert kept
    assert all(us > 0 for us in kept.values())
