# SPDX-License-Identifier: BSD-3-Clause
"""C++, all three Fortran interfaces and Python reach Sobor without knowing of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import usable_mpi

SCRIPT = Path(__file__).resolve().parent / "python" / "collectives.py"
COMPILED = [
    ("o41", "plusplus"),
    ("m40", "plusplus"),
    ("o50", "plusplus"),
    ("m50", "plusplus"),
    ("i21", "plusplus"),
    ("o41", "fortran77"),
    ("o41", "fortran90"),
    ("o41", "fortran08"),
    ("m40", "fortran77"),
    ("m40", "fortran90"),
    ("m40", "fortran08"),
]


@pytest.mark.parametrize(("key", "program"), COMPILED)
def test_compiled(tester, key, program):
    """A compiled program, bare and with Sobor, at the ranks that the MPI bears."""
    mpi = usable_mpi(key)
    ranks = 3 if mpi.open_mpi else 2
    tester.expect_pass(tester.run(mpi, ranks, [program]))
    if tester.bare_only:
        return
    result = tester.run(mpi, ranks, [program], sobor={})
    tester.expect_pass(result, served=True)
    world = next(r for r in result.reports if r.name == "MPI_COMM_WORLD")
    assert world.barrier > 0 and world.bcast > 0, result.tail()


@pytest.mark.parametrize("key", ["o41", "m40", "o50", "m50", "i21"])
def test_python(tester, key):
    """mpi4py, which loads its MPI late and with local scope."""
    mpi = usable_mpi(key)
    if mpi.python is None:
        pytest.skip(f"{key} has no Python with mpi4py (.peers)")
    ranks = 3 if mpi.open_mpi else 2
    command = [mpi.python, SCRIPT]
    bare = tester.run_command(mpi, ranks, command, environment=mpi.python_environment)
    tester.expect_pass(bare)
    if tester.bare_only:
        return
    result = tester.run_command(mpi, ranks, command, sobor={}, environment=mpi.python_environment)
    tester.expect_pass(result, served=True)
