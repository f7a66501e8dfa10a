# SPDX-License-Identifier: BSD-3-Clause
"""Real programs as the distribution ships them: HPCC and LAMMPS, with their own checks."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from conftest import usable_mpi

HERE = Path(__file__).resolve().parent
MELT = HERE / "apps" / "in.melt"
HPCC_EXAMPLE = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
RANKS = (2, 4)
#: Lines of hpccinf.txt that are changed: the size of the problem and the grid of ranks.
SIZE_LINE, ROWS_LINE, COLUMNS_LINE = 5, 10, 11
PROBLEM_SIZE = 600


def need(program: str) -> str:
    """Path of an installed program."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    return path


def check_world_served(result) -> None:
    """The report of MPI_COMM_WORLD and its like shows both collectives served."""
    barrier = sum(r.barrier for r in result.reports if r.where == "shm")
    bcast = sum(r.bcast for r in result.reports if r.where == "shm")
    assert bcast > 0, result.tail()
    assert barrier > 0, result.tail()


def write_hpcc_input(folder: Path, ranks: int) -> None:
    """The distribution's example, smaller and for this number of ranks."""
    if not HPCC_EXAMPLE.exists():
        pytest.skip(f"{HPCC_EXAMPLE} is not there")
    lines = HPCC_EXAMPLE.read_text().splitlines()
    for number, value in ((SIZE_LINE, PROBLEM_SIZE), (ROWS_LINE, ranks // 2), (COLUMNS_LINE, 2)):
        lines[number] = f"{value} {lines[number].split(None, 1)[1]}"
    (folder / "hpccinf.txt").write_text("\n".join(lines) + "\n")


def check_hpcc_output(text: str) -> None:
    """HPCC's own checks: its verdict, no wrong location, no failed residual."""
    assert "Success=1" in text
    failed = re.findall(r"(\d+) tests completed and failed residual checks", text)
    passed = re.findall(r"(\d+) tests completed and passed residual checks", text)
    assert failed and all(int(n) == 0 for n in failed), failed
    assert passed and all(int(n) > 0 for n in passed), passed
    errors = re.findall(r"Found (\d+) errors in \d+ locations", text)
    assert errors and all(int(n) == 0 for n in errors), errors
    assert "FAILED" not in text


@pytest.mark.parametrize("ranks", RANKS)
def test_hpcc(tester, ranks):
    """HPCC: PTRANS, HPL, DGEMM, RandomAccess, FFT, and its measurements."""
    program = need("hpcc")
    write_hpcc_input(tester.folder, ranks)
    sobor = None if tester.bare_only else {}
    result = tester.run_command(usable_mpi("o41"), ranks, [program], sobor=sobor, timeout=180)
    assert result.returncode == 0 and not result.timed_out, result.tail()
    check_hpcc_output((tester.folder / "hpccoutf.txt").read_text())
    if sobor is not None:
        check_world_served(result)


def thermodynamics(result) -> list[str]:
    """The table that LAMMPS prints."""
    assert result.returncode == 0 and not result.timed_out, result.tail()
    table = re.search(r"^Step .*?\n(.*?)^Loop time", result.stdout, re.DOTALL | re.MULTILINE)
    assert table is not None, result.tail()
    return table.group(1).splitlines()


@pytest.mark.parametrize("ranks", RANKS)
def test_lammps(tester, ranks):
    """LAMMPS prints the same thermodynamic lines with Sobor and without."""
    mpi = usable_mpi("o41")
    command = [need("lmp"), "-in", MELT, "-log", "none"]
    bare = thermodynamics(tester.run_command(mpi, ranks, command, timeout=120))
    assert len(bare) >= 6
    if tester.bare_only:
        return
    result = tester.run_command(mpi, ranks, command, sobor={}, timeout=120)
    assert thermodynamics(result) == bare, result.tail()
    check_world_served(result)
