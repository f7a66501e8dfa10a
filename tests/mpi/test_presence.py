# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in which not every rank has Sobor, or the same one, or what it needs: none is waited for."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from mpis import PRELOAD

from conftest import usable_mpi

KEYS = ["o41", "m40", "i21"]
RANK = "${PMIX_RANK:-$PMI_RANK}"
SECONDS = 40


@pytest.fixture(params=KEYS)
def host(request):
    """The MPIs of the distribution."""
    return usable_mpi(request.param)


def run_mixed(tester, mpi, ranks: int, setting: str, words: tuple = ("scarce",), rank: int = -1):
    """Runs with Sobor on all ranks but one, for which a line of shell sets what it has."""
    program = shlex.join([str(tester.program(mpi, words[0])), *words[1:]])
    script = f'[ "{RANK}" = {rank % ranks} ] && {setting}; exec {program}'
    return tester.run_command(
        mpi, ranks, ["bash", "-c", script], sobor={"SOBOR_VERBOSE": "1"}, timeout=SECONDS
    )


def reasons(result) -> set[str]:
    return set(re.findall(r"reason=(\S+)", result.stderr))


#: Of PMIx, to whatever a shell that it has started runs.
SHELL = {
    "PMIX_RANK": "0",
    "PMIX_NAMESPACE": "outer",
    "PMIX_SERVER_URI41": "server.1;tcp4://127.0.0.1:1",
}


@pytest.mark.parametrize("key", ["m40", "i21"])
def test_words_of_another_launcher(tester, key):
    """Hydra in a shell that PMIx has started: all its ranks are told that they are that shell."""
    result = tester.run(usable_mpi(key), 2, ["scarce"], sobor={}, environment=SHELL)
    tester.expect_pass(result, served=True)


@pytest.mark.parametrize("key", ["m40", "i21"])
def test_words_of_a_rank(tester, key):
    """Hydra in a rank of Open MPI's mpirun: it passes on which rank of how many that is."""
    outer = {
        **SHELL,
        "PMIX_RANK": "1",
        "OMPI_COMM_WORLD_RANK": "1",
        "OMPI_COMM_WORLD_SIZE": "2",
        "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
    }
    result = tester.run(usable_mpi(key), 3, ["scarce"], sobor={}, environment=outer)
    tester.expect_pass(result, served=True)


def test_words_of_two_jobs(tester):
    """A size that another launcher has said: some of the ranks can be its, and one cannot."""
    program = shlex.quote(str(tester.program(usable_mpi("o41"), "scarce")))
    script = f"OMPI_COMM_WORLD_SIZE=2 exec {program}"
    result = tester.run_command(
        usable_mpi("o41"), 3, ["bash", "-c", script], sobor={"SOBOR_VERBOSE": "1"}, timeout=SECONDS
    )
    tester.expect_pass(result)
    assert reasons(result) <= {"absent-ranks"}, result.tail()


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_rank_without_sobor(tester, host, ranks):
    """As a statically linked program, or a wrapper that unsets LD_PRELOAD."""
    result = run_mixed(tester, host, ranks, "unset LD_PRELOAD")
    tester.expect_pass(result)
    assert result.served == 0, result.tail()
    assert reasons(result) == {"absent-ranks"}, result.tail()


@pytest.mark.parametrize(
    ("key", "case"), [("m40", "alone"), ("m40", "beside"), ("m50", "alone"), ("o50", "beside")]
)
def test_a_rank_without_sobor_in_sessions(tester, key, case):
    """Whether or not there is an MPI_Init before which the ranks could have met."""
    result = run_mixed(tester, usable_mpi(key), 2, "unset LD_PRELOAD", ("sessions", case))
    tester.expect_pass(result)
    assert result.served == 0, result.tail()
    assert reasons(result) == {"absent-ranks"}, result.tail()


def copy_of_library(folder: Path) -> Path:
    target = folder / "lib"
    shutil.copytree(PRELOAD.parent, target)
    return target / PRELOAD.name


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_whose_back_end_cannot_be_loaded(tester, host, tmp_path, rank):
    """Such as one on which hwloc is missing. The first of a node says it, for all of it."""
    preload = copy_of_library(tmp_path)
    for backend in preload.parent.glob("sobor-*.so"):
        backend.unlink()
    result = run_mixed(tester, host, 2, f"export LD_PRELOAD={preload}", rank=rank)
    tester.expect_pass(result)
    assert result.served == 0, result.tail()
    assert ("the back end cannot be loaded" in result.stderr) == (rank == 0), result.tail()
    # Rank 0 of a communicator reports.
    assert reasons(result) == ({"absent-ranks"} if rank > 0 else set()), result.tail()


LARGE = [
    ("bcast_c",),
    ("parts", "--seed", 5, "--cases", 200),
    ("reductions", "--seed", 5, "--cases", 200),
    ("too_many",),
    ("windows", "any"),
]


@pytest.mark.parametrize("key", ["o41", "o50"])
@pytest.mark.parametrize("words", LARGE, ids=[words[0] for words in LARGE])
def test_large_counts_without_a_back_end(tester, key, words, tmp_path):
    """The host has no functions with large counts, and bindings call what is exported."""
    preload = copy_of_library(tmp_path)
    for backend in preload.parent.glob("sobor-*.so"):
        backend.unlink()
    program = [tester.program(usable_mpi(key), words[0]), *words[1:]]
    command = ["env", f"LD_PRELOAD={preload}", *program]
    result = tester.run_command(usable_mpi(key), 3, command)
    tester.expect_pass(result)
    assert result.stderr.count("the back end cannot be loaded") == 1, result.tail()


def test_a_rank_with_another_build(tester, host, tmp_path):
    """What memory holds is of one build; the linker's note tells two apart."""
    preload = copy_of_library(tmp_path)
    for backend in preload.parent.glob("sobor-*.so"):
        notes = subprocess.run(
            ["readelf", "-n", str(backend)], capture_output=True, text=True, check=True
        ).stdout
        build = bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", notes)[1])
        content = backend.read_bytes()
        assert content.count(build) == 1
        backend.write_bytes(content.replace(build, bytes(len(build))))
    result = run_mixed(tester, host, 2, f"export LD_PRELOAD={preload}")
    tester.expect_pass(result)
    assert result.served == 0, result.tail()
    assert reasons(result) == {"absent-ranks"}, result.tail()


@pytest.mark.parametrize("what", ["nothing", "descriptors", "memory", "mappings", "root"])
def test_a_rank_that_lacks_something(tester, host, what):
    """After MPI_Init, at the first call: Sobor serves, or all ranks leave it to the MPI."""
    if what == "root" and os.geteuid() != 0:
        pytest.skip("chroot needs root")
    if what == "memory" and host.key == "i21":
        pytest.skip("with no heap left the host crashes, or not, by whose message comes first")
    bare = tester.run(host, 2, ["scarce", what], timeout=SECONDS)
    if bare.timed_out or bare.returncode != 0:
        pytest.skip("the bare MPI does not get through")
    result = tester.run(host, 2, ["scarce", what], sobor={"SOBOR_VERBOSE": "1"}, timeout=SECONDS)
    tester.expect_pass(result, served=what == "nothing")


@pytest.mark.parametrize("what", ["record", "trial"])
def test_no_memory(tester, host, what):
    """Of its own Sobor has none: the call returns an error, and is not made by the host."""
    settings = {"SOBOR_TRIALS": "on", "SOBOR_TRIAL_REST": "3"}
    tester.expect_pass(tester.run(host, 2, ["no_memory", what], sobor=settings, timeout=SECONDS))


@pytest.mark.parametrize(
    "settings",
    [
        {"SOBOR_SERVE_AFTER": "20"},
        {"SOBOR_TRIALS": "on", "SOBOR_TRIAL_REST": "3"},
    ],
    ids=["new", "trials"],
)
def test_wrong_calls_do_not_count(tester, host, settings):
    """One rank alone may make them: calls before the first that is served, and those of trials,
    are counted alike all the same."""
    tester.expect_pass(tester.run(host, 2, ["first_use", "counted"]))
    result = tester.run(host, 2, ["first_use", "counted"], sobor=settings, timeout=SECONDS)
    tester.expect_pass(result, served=True)
    assert any("arguments" in r.reasons for r in result.reports), result.tail()


def test_the_first_rank_counts_for_all(tester, host):
    """SOBOR_SERVE_AFTER that differs between ranks: all count by one of the values."""
    result = run_mixed(tester, host, 2, "export SOBOR_SERVE_AFTER=2")
    tester.expect_pass(result, served=True)
