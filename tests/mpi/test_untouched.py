# SPDX-License-Identifier: BSD-3-Clause
"""A process without MPI is not touched by the preload, and one that finds MPI late still works."""

from __future__ import annotations

import re
import subprocess
import sys

import building
import jobs
import pytest
from mpis import PRELOAD

from conftest import usable_mpi


def preloaded(command: list, **settings) -> subprocess.CompletedProcess:
    """Run a command with the preload and a report asked for."""
    assert PRELOAD.exists(), f"{PRELOAD} is not built"
    environment = {**jobs.base_environment(), **jobs.sobor_environment({}), **settings}
    return subprocess.run(
        [str(word) for word in command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "command",
    [
        ["/bin/true"],
        ["/bin/sh", "-c", "echo one; (echo two) | cat; /bin/true"],
        [sys.executable, "-c", "import ctypes, json, threading; print('one')"],
        ["/usr/bin/env"],
    ],
    ids=["true", "sh", "python", "env"],
)
def test_no_mpi(command):
    """Same output, same exit code, nothing on stderr."""
    bare = subprocess.run(
        command, env={**jobs.base_environment()}, capture_output=True, text=True, check=False
    )
    done = preloaded(command)
    assert done.returncode == bare.returncode == 0, done.stderr
    assert done.stderr == ""
    hidden = ("LD_PRELOAD=", "SOBOR_")
    lines = [x for x in done.stdout.splitlines() if not x.startswith(hidden)]
    assert lines == bare.stdout.splitlines()


def test_exit_code_is_kept():
    """A command's own failure stays as it is."""
    assert preloaded(["/bin/sh", "-c", "exit 37"]).returncode == 37


def readelf(option: str, path) -> str:
    """What readelf prints of an object."""
    command = ["readelf", option, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", ["libsobor.so", "libsobor-heap.so", "libsobor-profile.so"])
def test_two_pieces(name):
    """Each piece of an object that is mapped takes time at the start of every process."""
    path = PRELOAD.with_name(name)
    if "LLD" in readelf("-p.comment", path):
        pytest.skip("lld maps what is read and what is run apart")
    lines = readelf("-lW", path).splitlines()
    assert sum(line.split()[:1] == ["LOAD"] for line in lines) == 2


def test_libc_only():
    """The preloaded object needs nothing but libc, and leaves no symbol open that could fail."""
    lines = readelf("-d", PRELOAD).splitlines()
    needed = [line.split("[")[1].split("]")[0] for line in lines if "(NEEDED)" in line]
    assert all(name.startswith(("libc.so", "ld-linux")) for name in needed), needed
    relocate = preloaded(["/bin/true"], LD_BIND_NOW="1")
    assert relocate.returncode == 0 and relocate.stderr == ""


def test_version_query_is_left_alone():
    """mpi4py asks for MPI_Get_version to find out whether an MPI is there: it must not be ours."""
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", str(PRELOAD)], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
    assert {"MPI_Bcast", "PMPI_Bcast", "MPI_Barrier", "PMPI_Barrier"} <= names
    forms = ("create", "create_c", "allocate", "allocate_c", "allocate_shared", "allocate_shared_c")
    assert {f"{p}MPI_Win_{f}" for p in ("", "P") for f in (*forms, "create_dynamic")} <= names
    assert not names & {"MPI_Get_version", "MPI_Abi_get_version", "MPI_Get_library_version"}


def test_an_mpi_of_another_family(tmp_path):
    """Its handles are none that a back end knows: all calls are its own, and that is said once."""
    library, program = tmp_path / "libmpi.so", tmp_path / "foreign"
    compiler = ["cc", "-O1", *building.WARNINGS, f"-I{building.SOURCES}"]
    made_up = [*compiler, "-shared", "-fPIC", str(building.PROGRAMS / "foreign_mpi.c")]
    subprocess.run([*made_up, "-o", str(library)], check=True)
    source = str(building.PROGRAMS / "foreign.c")
    search = [f"-L{tmp_path}", "-lmpi", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run([*compiler, source, *search, "-o", str(program)], check=True)
    bare = subprocess.run([program], capture_output=True, text=True, check=False)
    done = preloaded([program])
    assert bare.returncode == done.returncode == 0, done.stdout + done.stderr
    assert "FAIL" not in done.stdout and done.stdout == bare.stdout
    assert bare.stderr == ""
    said = "sobor: this MPI is of a family that Sobor does not know, so every call goes to it\n"
    assert done.stderr == said
    numbers = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK")
    for number in (*numbers, "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"):
        assert preloaded([program], **{number: "0"}).stderr == said
        assert preloaded([program], **{number: "1"}).stderr == ""
    # Of mpirun in a script of sbatch, and of one launcher in a rank of another.
    second = {"OMPI_COMM_WORLD_LOCAL_RANK": "1"}
    assert preloaded([program], **second, SLURM_LOCALID="0").stderr == ""
    assert preloaded([program], **second, MPI_LOCALRANKID="0").stderr == said


@pytest.mark.parametrize("key", ["o41", "m40", "o50", "m50", "i21"])
@pytest.mark.parametrize("preload", [False, True], ids=["bare", "preloaded"])
def test_late_load(tester, key, preload):
    """libmpi is loaded by dlopen with local scope, long after the start."""
    mpi = usable_mpi(key)
    program = building.build_plain("late_load")
    command = [program, mpi.library, "ompi" if mpi.open_mpi else "mpich"]
    result = tester.run_command(mpi, 2, command, sobor={} if preload else None)
    tester.expect_pass(result)


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_hwloc_of_the_program(tester, key):
    """What a program finds by its own hwloc is the same with Sobor, which has used it before."""
    mpi = usable_mpi(key)
    said = []
    for sobor in (None, {}):
        result = tester.run(mpi, 2, ["own_hwloc"], sobor=sobor)
        tester.expect_pass(result)
        said.append(re.search(r"plug-ins (\d+), path .*", result.stdout))
    if said[0] is None or said[0][1] == "0":
        pytest.skip("hwloc has no plug-ins here")
    assert said[0][0] == said[1][0]


def test_alone_without_a_launcher(tester):
    """A program started by itself, as one rank."""
    program = tester.program(usable_mpi("o41"), "basics")
    done = preloaded([program, "5000"])
    assert done.returncode == 0, done.stderr
    assert "PASS basics" in done.stdout
