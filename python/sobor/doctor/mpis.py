# SPDX-License-Identifier: BSD-3-Clause
"""Looks for the MPIs of the machine and says which of them Sobor serves."""

import os
from collections.abc import Iterator

from sobor.doctor.finding import Finding, Patient, Status
from sobor.errors import SoborError
from sobor.launchers import Family, Launcher, known_on_path, recognise
from sobor.libmpi import NAMES, Library, library_of
from sobor.native import build_remedy

SECTION = "MPI"
_ALTERNATIVES = ("mpirun", "mpiexec")


def check(patient: Patient) -> Iterator[Finding]:
    """One finding for each launcher, and what the plain names stand for."""
    launchers = list(_launchers(patient))
    if not launchers:
        remedy = "apt install openmpi-bin, or put the folder of your mpirun on the PATH"
        yield Finding(SECTION, "launchers", Status.FAIL, "none is on the PATH", remedy)
    for launcher in launchers:
        yield _finding(launcher, patient)
    yield from _alternatives(patient)


def _launchers(patient: Patient) -> Iterator[Launcher]:
    """The launchers on the PATH and those asked for, one for each MPI in each folder."""
    seen = set()
    words = [*patient.launchers, *map(str, known_on_path(patient.environ))]
    for word in words:
        launcher = recognise(word, patient.environ)
        key = (launcher.family, launcher.label, launcher.path.resolve().parent)
        if key not in seen:
            seen.add(key)
            yield launcher


def _finding(launcher: Launcher, patient: Patient) -> Finding:
    data = {
        "launcher": str(launcher.path),
        "family": launcher.family.value,
        "product": launcher.product,
        "version": launcher.version,
        "library": None,
        "abi": None,
        "served": False,
    }
    if launcher.family in (Family.SRUN, Family.PLAIN):
        return _of_any_mpi(launcher, patient, data)
    library = library_of(launcher, patient.environ)
    if library is None:
        value = f"{launcher.path}: its MPI library was not found"
        remedy = "add the library's folder to LD_LIBRARY_PATH"
        return Finding(SECTION, launcher.label, Status.NOTE, value, remedy, data)
    data |= {"library": str(library.path), "abi": library.abi}
    return _with_back_end(launcher, library, patient, data)


def _of_any_mpi(launcher: Launcher, patient: Patient, data: dict) -> Finding:
    """A launcher that belongs to no MPI, or to one that is not known: its programs decide."""
    abis = built(patient)
    data |= {"served": bool(abis), "condition": f"for programs of {' or '.join(abis)}"}
    if launcher.family is Family.SRUN:
        value = f"{launcher.path}; hands the preload on by the environment"
        return Finding(SECTION, launcher.label, Status.OK, value, data=data)
    data["condition"] = f"if it hands on LD_PRELOAD, {data['condition']}"
    value = f"{launcher.path}: not a launcher that Sobor knows"
    remedy = "export LD_PRELOAD by this launcher's own means; sobor run --print shows the value"
    return Finding(SECTION, launcher.label, Status.NOTE, value, remedy, data)


def built(patient: Patient) -> list[str]:
    """The ABIs that there are back ends for."""
    if patient.native is None:
        return []
    return [abi for abi in NAMES if patient.native.backend(abi).is_file()]


def _with_back_end(launcher: Launcher, library: Library, patient: Patient, data: dict) -> Finding:
    where = f"{launcher.path}, {library.path}"
    if library.abi not in built(patient):
        remedy = f"install the headers for {library.abi}; then {build_remedy()}"
        value = f"{where}; no back end {library.abi}"
        return Finding(SECTION, launcher.label, Status.WARN, value, remedy, data)
    value = f"{where}; back end {library.abi}"
    return Finding(SECTION, launcher.label, Status.OK, value, data={**data, "served": True})


def _alternatives(patient: Patient) -> Iterator[Finding]:
    for name in _ALTERNATIVES:
        link = patient.files.path(f"/etc/alternatives/{name}")
        if link.is_symlink():
            target = os.readlink(link)
            yield Finding(SECTION, name, Status.NOTE, f"stands for {target}", data={"to": target})


def check_words(patient: Patient) -> None:
    """Raises the error for a launcher that was asked for and is not here."""
    for word in patient.launchers:
        if recognise(word, patient.environ).family is Family.PLAIN:
            raise SoborError(
                f"--launcher: {word} is not an MPI launcher that Sobor knows",
                "name Open MPI's mpirun, MPICH's or Intel MPI's mpiexec, or srun",
            )
