# SPDX-License-Identifier: BSD-3-Clause
"""Which launcher a word stands for."""

import os

import pytest

from sobor.errors import SoborError
from sobor.launchers import Family, known_on_path, recognise


@pytest.mark.parametrize(
    ("name", "banner", "family", "label", "major"),
    [
        ("mpirun", "openmpi4", Family.OPENMPI, "Open MPI 4.1.4", 4),
        ("mpiexec", "openmpi5", Family.OPENMPI, "Open MPI 5.0.11", 5),
        ("orterun", "openrte", Family.OPENMPI, "Open MPI 4.1.4", 4),
        ("prterun", "unknown", Family.OPENMPI, "prterun", 5),
        ("mpirun", "mpich", Family.HYDRA, "MPICH 4.0.2", 4),
        ("mpiexec.hydra", "intel", Family.HYDRA, "Intel MPI 2021.19.0", 2021),
        ("mpiexec.gforker", "unknown", Family.HYDRA, "mpiexec.gforker", None),
        ("srun", "slurm", Family.SRUN, "Slurm 22.05.8", 22),
        ("mpirun", "unknown", Family.PLAIN, "mpirun", None),
        ("someprogram", "openmpi4", Family.PLAIN, "someprogram", None),
    ],
)
def test_family(make_launcher, name, banner, family, label, major):
    make_launcher(name, banner)
    launcher = recognise(name)
    assert (launcher.family, launcher.label, launcher.major) == (family, label, major)


def test_link_tells_the_family_without_asking(make_launcher, launcher_folder):
    """As with Debian's alternatives: mpirun -> mpirun.openmpi -> orterun."""
    make_launcher("orterun", "unknown")
    (launcher_folder / "mpirun.openmpi").symlink_to("orterun")
    (launcher_folder / "mpirun").symlink_to(launcher_folder / "mpirun.openmpi")
    assert recognise("mpirun").family is Family.OPENMPI


def test_launcher_that_does_not_answer_is_plain(launcher_folder, monkeypatch):
    monkeypatch.setattr("sobor.launchers.recognition._VERSION_SECONDS", 0.2)
    script = launcher_folder / "mpirun"
    script.write_text("#!/bin/sh\nexec sleep 30\n")
    script.chmod(0o755)
    assert recognise("mpirun").family is Family.PLAIN


@pytest.mark.parametrize("word", ["mpirun.openmpi", "mpiexec.nothing", "/opt/mpi/bin/mpirun"])
def test_missing_launcher_names_those_that_are_here(
    make_launcher, launcher_folder, monkeypatch, word
):
    make_launcher("mpirun.mpich", "mpich")
    monkeypatch.setenv("PATH", str(launcher_folder))
    with pytest.raises(SoborError) as error:
        recognise(word)
    assert error.value.message == f"{word}: command not found"
    assert error.value.remedy == "launchers found here: mpirun.mpich"


def test_missing_launcher_without_any(launcher_folder, monkeypatch):
    monkeypatch.setenv("PATH", str(launcher_folder))
    with pytest.raises(SoborError) as error:
        recognise("mpirun")
    assert "no MPI launcher is on the PATH" in error.value.remedy


def test_file_that_cannot_be_run(tmp_path):
    script = tmp_path / "job.sh"
    script.write_text("")
    with pytest.raises(SoborError, match="not a program that can be run"):
        recognise(str(script))
    with pytest.raises(SoborError, match="expected a program, found a folder"):
        recognise(str(tmp_path))


def test_known_on_path_shows_each_program_once(make_launcher, launcher_folder, monkeypatch):
    make_launcher("orterun", "openrte")
    for name in ("mpirun", "mpiexec", "mpirun.openmpi"):
        (launcher_folder / name).symlink_to("orterun")
    make_launcher("mpiexec.hydra", "mpich")
    monkeypatch.setenv("PATH", f"{launcher_folder}{os.pathsep}{launcher_folder}")
    assert [path.name for path in known_on_path()] == ["mpirun.openmpi", "mpiexec.hydra"]
