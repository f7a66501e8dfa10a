# SPDX-License-Identifier: BSD-3-Clause
"""Real programs as the distribution ships them.

Each has a check of its own, or gives what it gives without Sobor. All but HPCC and LAMMPS are
installed and run for the long form of the tests alone.
"""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from jobs import AS_USERS

from conftest import usable_mpi

HERE = Path(__file__).resolve().parent
MELT = HERE / "apps" / "in.melt"
SCALAPACK = Path("/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests")
#: What Debian keeps PETSc's and SLEPc's Python modules below, one folder for each version.
PETSC_MODULES = ("/usr/lib/petscdir", "/usr/lib/slepcdir")
HPCC_EXAMPLE = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
RANKS = (2, 4)
#: Settings by ranks, of the two programs that every run of the tests has.
SETTINGS = {2: ({}, AS_USERS), 4: ({},)}
#: Lines of hpccinf.txt that are changed: the size of the problem and the grid of ranks.
SIZE_LINE, ROWS_LINE, COLUMNS_LINE = 5, 10, 11
#: By whether it is the long form.
PROBLEM_SIZES = {False: 300, True: 600}


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


def write_hpcc_input(folder: Path, ranks: int, size: int) -> None:
    """The distribution's example, smaller and for this number of ranks."""
    if not HPCC_EXAMPLE.exists():
        pytest.skip(f"{HPCC_EXAMPLE} is not there")
    lines = HPCC_EXAMPLE.read_text().splitlines()
    for number, value in ((SIZE_LINE, size), (ROWS_LINE, ranks // 2), (COLUMNS_LINE, 2)):
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


def check_hpcc(tester, ranks: int, size: int, all_settings) -> None:
    """HPCC finds all right under each of the settings."""
    mpi, program = usable_mpi("o41"), need("hpcc")
    write_hpcc_input(tester.folder, ranks, size)
    output = tester.folder / "hpccoutf.txt"
    for settings in (None,) if tester.bare_only else all_settings:
        output.unlink(missing_ok=True)
        result = tester.run_command(mpi, ranks, [program], sobor=settings, timeout=180)
        assert result.returncode == 0 and not result.timed_out, result.tail()
        check_hpcc_output(output.read_text())
        if settings is not None:
            check_world_served(result)


@pytest.mark.parametrize("ranks", RANKS)
def test_hpcc(tester, long_run, ranks):
    """HPCC: PTRANS, HPL, DGEMM, RandomAccess, FFT, and its measurements."""
    check_hpcc(tester, ranks, PROBLEM_SIZES[long_run], SETTINGS[ranks])


def thermodynamics(result) -> list[str]:
    """The table that LAMMPS prints."""
    assert result.returncode == 0 and not result.timed_out, result.tail()
    table = re.search(r"^Step .*?\n(.*?)^Loop time", result.stdout, re.DOTALL | re.MULTILINE)
    assert table is not None, result.tail()
    return table.group(1).splitlines()


def check_lammps(tester, ranks: int, all_settings) -> None:
    """LAMMPS prints on the bare host what it prints under each of the settings."""
    mpi = usable_mpi("o41")
    command = [need("lmp"), "-in", MELT, "-log", "none"]
    bare = thermodynamics(tester.run_command(mpi, ranks, command, timeout=120))
    assert len(bare) >= 6
    if tester.bare_only:
        return
    for settings in all_settings:
        result = tester.run_command(mpi, ranks, command, sobor=settings, timeout=120)
        assert thermodynamics(result) == bare, result.tail()
        check_world_served(result)


@pytest.mark.parametrize("ranks", RANKS)
def test_lammps(tester, ranks):
    """LAMMPS prints the same thermodynamic lines with Sobor and without."""
    check_lammps(tester, ranks, SETTINGS[ranks])


def prepare(words: list[str], folder: Path, **more) -> None:
    """Runs a program that makes the input of another."""
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=60, check=False, **more
    )
    assert done.returncode == 0, done.stdout + done.stderr


def gromacs_input(folder: Path) -> None:
    """A box of water, made by GROMACS itself."""
    gmx = need("gmx")
    shutil.copy(HERE / "apps" / "water.top", folder)
    box = ["-cs", "spc216", "-box", "2.2", "2.2", "2.2", "-p", "water.top", "-o", "water.gro"]
    prepare([gmx, "solvate", *box], folder)
    parameters = ["-f", HERE / "apps" / "water.mdp", "-c", "water.gro", "-p", "water.top"]
    prepare([gmx, "grompp", *parameters, "-o", "water.tpr"], folder)


def check_bcast_served(result) -> None:
    """The same of a program that need not call a barrier."""
    assert sum(r.bcast for r in result.reports if r.where == "shm") > 0, result.tail()


def run_alike(tester, command, ranks, found, check=check_world_served):
    """Runs a program without Sobor and with it, which `check` sees; what `found` sees in both."""
    mpi = usable_mpi("o41")
    answers = []
    for sobor in (None,) if tester.bare_only else (None, {}):
        result = tester.run_command(
            mpi, ranks, command, sobor=sobor, timeout=600, environment={"OMP_NUM_THREADS": "1"}
        )
        assert result.returncode == 0 and not result.timed_out, result.tail()
        answers.append(found(result))
        if sobor is not None:
            check(result)
    return answers


@pytest.mark.usefixtures("only_long")
@pytest.mark.parametrize("ranks", RANKS)
def test_gromacs(tester, ranks):
    """GROMACS: the energies of a box of water, nearly the same: sums come in another order."""
    program = need("gmx_mpi")
    gromacs_input(tester.folder)
    log = tester.folder / "md.log"
    words = ["-s", "water.tpr", "-g", log, "-ntomp", "1", "-pin", "off", "-nsteps", "100"]
    command = [program, "mdrun", *words, "-reprod", "-notunepme", "-dlb", "no"]

    def energies(_result):
        rows = log.read_text().splitlines()
        log.unlink()
        found = [
            float(row[heads.index("Potential") - 6 :][:15])
            for heads, row in itertools.pairwise(rows)
            if "Potential  " in heads
        ]
        assert len(found) >= 2
        return found

    bare, *served = run_alike(tester, command, ranks, energies)
    for each in served:
        assert each == pytest.approx(bare, rel=1e-3)


@pytest.mark.usefixtures("only_long")
@pytest.mark.parametrize("ranks", RANKS)
def test_quantum_espresso(tester, ranks):
    """Quantum ESPRESSO: the energy of two molecules of hydrogen, to all digits that it prints."""
    program, atom = need("pw.x"), need("ld1.x")
    prepare([atom], tester.folder, stdin=(HERE / "apps" / "hydrogen.ld1").open())
    command = [program, "-in", HERE / "apps" / "hydrogen.pw"]

    def energy(result):
        return re.search(r"^! +total energy += +(\S+) Ry", result.stdout, re.MULTILINE)[1]

    bare, *served = run_alike(tester, command, ranks, energy)
    assert all(each == bare for each in served)


@pytest.mark.usefixtures("only_long")
@pytest.mark.parametrize("ranks", RANKS)
def test_cp2k(tester, ranks):
    """CP2K: the energy of two molecules of water; sums come in another order."""
    command = [need("cp2k.psmp"), HERE / "apps" / "water.cp2k"]

    def energy(result):
        line = r"^ *ENERGY\| Total FORCE_EVAL .*: +(\S+)$"
        return float(re.search(line, result.stdout, re.MULTILINE)[1])

    bare, *served = run_alike(tester, command, ranks, energy)
    for each in served:
        assert each == pytest.approx(bare, rel=1e-9)


@pytest.mark.usefixtures("only_long")
@pytest.mark.parametrize("ranks", RANKS)
def test_nwchem(tester, ranks):
    """NWChem: energies of a molecule of water by three methods; its arrays are one-sided."""
    command = [need("nwchem.openmpi"), HERE / "apps" / "water.nw"]

    def energies(result):
        found = re.findall(r"Total (?:SCF|DFT|MP2) energy +=? +(\S+)", result.stdout)
        return [float(each) for each in (found[-3], found[-2], found[-1])]

    bare, *served = run_alike(tester, command, ranks, energies)
    for each in served:
        assert each == pytest.approx(bare, rel=1e-8)


@pytest.mark.usefixtures("only_long")
@pytest.mark.parametrize("ranks", (*RANKS, 3))
def test_petsc(tester, ranks):
    """PETSc and SLEPc: three solvers of linear equations and one of eigenvalues."""
    modules = [
        str(path)
        for folder in PETSC_MODULES
        for path in Path(folder).glob("*/*-real/lib/python3/dist-packages")
    ]
    if len(modules) < len(PETSC_MODULES):
        pytest.skip("the Python modules of PETSc and SLEPc are not installed")
    paths = f"PYTHONPATH={':'.join(modules)}"
    command = ["/usr/bin/env", paths, "/usr/bin/python3", HERE / "apps" / "poisson.py"]
    bare, *served = run_alike(tester, command, ranks, lambda result: result.stdout.splitlines())
    assert len(bare) == len(("cg", "gmres", "bcgs", "eigenvalues"))
    assert all(each == bare for each in served)


@pytest.mark.usefixtures("only_long")
@pytest.mark.parametrize("program", ("xdlu", "xdqr", "xdls"))
def test_scalapack(tester, program):
    """ScaLAPACK's own tests, each for grids of up to four ranks."""
    if not (SCALAPACK / program).exists():
        pytest.skip("ScaLAPACK's tests are not installed")
    for path in SCALAPACK.glob("*.dat"):
        shutil.copy(path, tester.folder)

    def verdicts(result):
        rows = r"(\d+) tests completed and (passed|failed)"
        found = {word: int(count) for count, word in re.findall(rows, result.stdout)}
        assert found["passed"] > 0 and found["failed"] == 0, result.tail()
        return found

    bare, *served = run_alike(tester, [SCALAPACK / program], 4, verdicts, check=check_bcast_served)
    assert all(each == bare for each in served)
