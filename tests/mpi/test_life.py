# SPDX-License-Identifier: BSD-3-Clause
"""What goes on beside the calls: hosts that forget late, small stacks, children, late runtimes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import building
import pytest
from mpis import WORK

from conftest import usable_mpi

KEYS = ["o41", "m40", "m50", "i21"]


def expect_own_records(tester, result, communicators: int = 40) -> None:
    """One line for each of the communicators: no record was ended for another, or left behind."""
    tester.expect_pass(result, served=True)
    assert result.stderr.count("comm name=") == communicators, result.tail()
    assert "where=host" not in result.stderr, result.tail()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("case", ["freed-early", "freed-early-requests", "freed-early-threads"])
def test_freed_early(tester, key, case):
    """Hosts forget a communicator when nothing on it is left: its record is another's by then."""
    result = tester.run(usable_mpi(key), 2, ["life", case], sobor={"SOBOR_VERBOSE": "1"})
    expect_own_records(tester, result)


@pytest.mark.parametrize("key", KEYS)
def test_used_while_freed(tester, key):
    """A callback at a communicator's end may still use it; the handle is another's soon after."""
    words = ["life", "used-while-freed"]
    result = tester.run(usable_mpi(key), 2, words, sobor={"SOBOR_VERBOSE": "1"})
    expect_own_records(tester, result)


@pytest.mark.parametrize("key", KEYS)
def test_free_refused(tester, key):
    """A callback may refuse: the communicator lives on, with its record, on all ranks."""
    words = ["life", "free-refused"]
    result = tester.run(usable_mpi(key), 2, words, sobor={"SOBOR_VERBOSE": "1"})
    expect_own_records(tester, result, communicators=20)


@pytest.mark.parametrize("key", KEYS)
def test_free_left(tester, key):
    """A handler may not come back from that: the host has the communicator until it is freed."""
    words = ["life", "free-left"]
    result = tester.run(usable_mpi(key), 2, words, sobor={"SOBOR_VERBOSE": "1"})
    expect_own_records(tester, result, communicators=50)


@pytest.mark.parametrize("key", KEYS)
def test_attached_to_self(tester, key):
    """Attributes of MPI_COMM_SELF are not copied for Sobor, and deleted once."""
    mpi = usable_mpi(key)
    tester.expect_pass(tester.run(mpi, 2, ["life", "attached-to-self"]))
    result = tester.run(mpi, 2, ["life", "attached-to-self"], sobor={})
    tester.expect_pass(result, served=True)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("case", ["jumps", "called-last"])
def test_called_back(tester, key, case):
    """One rank makes in a callback of the host, or of MPI_Finalize, what others make elsewhere."""
    mpi = usable_mpi(key)
    tester.expect_pass(tester.run(mpi, 2, ["life", case]))
    result = tester.run(mpi, 2, ["life", case], sobor={})
    tester.expect_pass(result, served=True)


@pytest.mark.parametrize("key", KEYS)
def test_small_stack(tester, key):
    """Packed reductions, a user's operation and fragments on the stack of a user-level thread."""
    result = tester.run(usable_mpi(key), 2, ["life", "small-stack"], sobor={})
    tester.expect_pass(result, served=True)


@pytest.mark.parametrize("key", KEYS)
def test_child_exits(tester, key):
    """The report is printed once, by the process that the calls were of."""
    result = tester.run(usable_mpi(key), 2, ["life", "child-exits"], sobor={"SOBOR_VERBOSE": "1"})
    tester.expect_pass(result, served=True)
    assert result.stderr.count("comm name=") == 1, result.tail()


def build_runtime(name: str, *options: str) -> Path:
    """A made-up runtime of a device, with this file name."""
    runtime = WORK / "runtimes" / name
    runtime.parent.mkdir(parents=True, exist_ok=True)
    source = building.PROGRAMS / "runtime.c"
    build = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", *options, str(source)]
    subprocess.run([*build, "-o", str(runtime)], check=True)
    return runtime


@pytest.mark.parametrize("key", KEYS)
def test_late_device(tester, key):
    """A device runtime that is loaded after the set-up is asked about every buffer."""
    words = ["life", "late-device", str(build_runtime("libcuda.so.1"))]
    result = tester.run(usable_mpi(key), 2, words, sobor={"SOBOR_DEVICE": "check"})
    tester.expect_pass(result, served=True)


RUNTIMES = {"cuda": ("libcuda.so.1",)}
RUNTIMES |= {f"hip{n}": (f"libamdhip64.so.{n}", f"-DHIP={n}") for n in (5, 6)}


@pytest.mark.parametrize("loaded", ["cuda", "hip5", "hip6", "cuda hip6", "hip5 cuda"])
def test_device_memory(tester, loaded):
    """All runtimes are asked, by names with versions, each of which has numbers of its own."""
    libraries = [build_runtime(*RUNTIMES[name]) for name in loaded.split()]
    tester.expect_pass(tester.run(usable_mpi("o41"), 1, ["devices", "memory", *libraries]))


@pytest.mark.parametrize("name", ["cuda", "rocm", "ze", "libuct_rocm.so.0", "none"])
def test_device_support(tester, name):
    """Open MPI can use devices if it says so of any kind, or has what it needs for one."""
    libraries = [build_runtime(*RUNTIMES["hip6"])]
    libraries += [build_runtime(name)] if name.startswith("lib") else []
    tester.expect_pass(tester.run(usable_mpi("o41"), 1, ["devices", "support", name, *libraries]))
