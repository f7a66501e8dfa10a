# SPDX-License-Identifier: BSD-3-Clause
"""Measuring this machine: that a right machine file comes out, not what is in it."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from sobor.machines import PARAMETERS, read_machine

NETWORK = {name for name in PARAMETERS if name.startswith("net_")}
#: Shows only where many cores move lines at once; left out, it costs nothing.
MANY_CORES = {
    "home_service",
    "link_service",
    "share_service",
    "atomic_crowded",
    "read_gap",
    "write_overlap",
}


@pytest.fixture
def measured(command, real_native, tmp_path):
    """The machine file of a hasty measurement."""
    if not real_native.calibrator.is_file():
        pytest.skip("sobor-calibrate was not built")
    path = tmp_path / "mine.json"
    result = command("simulate", "--calibrate", str(path), "--seconds", "0.3")
    assert result.status == 0, result.err
    assert f"written to {path}" in result.err
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == ["mine.json"]
    return path


def test_calibration(measured, real_native):
    machine = read_machine(measured)
    assert machine.name == "mine"
    told = {name for name in PARAMETERS if not name.startswith("line_service_")}
    # What MPI does is not the machine's, and combining is taken to be as fast as copying.
    told -= NETWORK | MANY_CORES | {"call", "message", "combine"}
    assert set(machine.parameters) == told
    values = {name: parameter.value for name, parameter in machine.parameters.items()}
    assert values["read_hit"] <= values["read_machine"]
    assert values["copy_core"] >= values["copy_machine"]
    assert values["read_overlap"] >= 1
    assert values["l2_bytes"] <= values["l3_bytes"]
    for parameter in machine.parameters.values():
        assert parameter.source.startswith("assumed: " if parameter.assumed else "measured: ")
    topology = real_native.query("topology", "--machine", machine.topology)
    here = real_native.query("topology")
    assert topology["cores"] == here["cores"]
    assert topology["numa_nodes"] == here["numa_nodes"]


def test_what_one_machine_cannot_tell_is_assumed(measured, real_native):
    machine = read_machine(measured)
    here = real_native.query("topology")
    assert "invalidate_per_sharer" in machine.assumed
    assert ("read_machine" in machine.assumed) == (here["packages"] == 1)
    assert ("link_package" in machine.assumed) or here["numa_nodes"] > here["packages"]


def test_every_pair_is_measured(measured, real_native):
    matrix = json.loads(measured.read_text())["hops"]["matrix"]
    for a, row in enumerate(matrix):
        assert len(row) == len(matrix)
        for b, hop in enumerate(row):
            assert (hop > 0) == (a != b)
            assert hop == matrix[b][a]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--output", "x.json"], "needs --output and --name"),
        (["--output"], "--output: expected a value after it, found nothing"),
        (["--size", "3"], '"--size" is no option here'),
        (["--seconds", "soon"], '--seconds: expected a number from 0.1 to 3600, found "soon"'),
        (["--seconds", "0"], '--seconds: expected a number from 0.1 to 3600, found "0"'),
    ],
)
def test_bad_options(real_native, arguments, words):
    result = subprocess.run(
        [real_native.calibrator, *arguments], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert words in result.stderr


def children_of(process: int) -> list[int]:
    """Processes that it has started."""
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(child) for child in path.read_text().split()]


def computes(process: int) -> bool:
    """Whether it lives; a dead one may have nobody who asks for it."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def test_killed(real_native, tmp_path):
    """No process that computes for ever is left."""
    output = tmp_path / "x.json"
    command = [real_native.calibrator, "--output", output, "--name", "x", "--seconds", "20"]
    with subprocess.Popen(command) as tool:
        children = []
        while tool.poll() is None and not children:
            time.sleep(0.01)
            children = children_of(tool.pid)
        tool.kill()
    assert children
    until = time.monotonic() + 10
    while any(computes(child) for child in children) and time.monotonic() < until:
        time.sleep(0.01)
    left = [child for child in children if computes(child)]
    for child in left:
        os.kill(child, signal.SIGKILL)
    assert not left


def test_file_that_cannot_be_written(command, fake_native):
    result = command("simulate", "--calibrate", "/nowhere/mine.json")
    assert result.status == 2
    assert "--calibrate: /nowhere/mine.json: expected a file that can be written" in result.err
