# SPDX-License-Identifier: BSD-3-Clause
"""Checks Sobor's own parts: the preload object, the back ends, the settings, Python."""

import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from sobor import variables
from sobor.doctor.finding import Finding, Patient, Status
from sobor.doctor.mpis import built
from sobor.errors import SoborError
from sobor.launchers.plan import check_preload_path
from sobor.libmpi import NAMES
from sobor.native import PREFIX_VARIABLE, build_remedy
from sobor.version import __version__

SECTION = "Sobor"
# In a process of its own: what a back end does there stays there. A Python without ctypes cannot
# tell. A build with sanitizers is loaded into programs that have them, and Python has not.
_SANITIZED = {"ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}
_LOAD = """
import sys
try:
    import ctypes
except ImportError:
    sys.exit()
try:
    ctypes.CDLL(sys.argv[1])
except OSError as error:
    sys.exit(str(error))
"""


def check(patient: Patient) -> Iterator[Finding]:
    """Looks at the parts of Sobor that are installed."""
    yield Finding(SECTION, "command", Status.OK, f"version {__version__}")
    if patient.native is None:
        missing = patient.missing
        yield Finding(SECTION, "preload object", Status.FAIL, missing.message, missing.remedy)
    else:
        yield _preload(patient)
        yield _back_ends(patient)
        yield from _versions(patient)
        yield from _settings(patient)
    yield Finding(SECTION, "Python", Status.OK, f"{platform.python_version()} ({sys.executable})")


def _preload(patient: Patient) -> Finding:
    library = patient.native.preload
    try:
        check_preload_path(str(library))
    except SoborError as error:
        return Finding(SECTION, "preload object", Status.FAIL, error.message, error.remedy)
    try:
        command = [shutil.which("true") or "/bin/true"]
        answer = patient.run(command, {"LD_PRELOAD": str(library)})
        problem = answer.stderr.strip() or (answer.returncode and f"exit {answer.returncode}")
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    if problem:
        remedy = build_remedy("build Sobor on this machine, and install it again")
        return Finding(SECTION, "preload object", Status.FAIL, f"{library}: {problem}", remedy)
    return Finding(SECTION, "preload object", Status.OK, f"{library} loads")


def _back_ends(patient: Patient) -> Finding:
    present = built(patient)
    missing = [abi for abi in NAMES if abi not in present]
    data = {"present": present, "missing": missing}
    if not present:
        remedy = "install an MPI with its headers (apt install libopenmpi-dev) and build again"
        return Finding(SECTION, "back ends", Status.FAIL, "none is built", remedy, data)
    for abi in present:
        problem = _load(patient.native.backend(abi), patient)
        if problem:
            return Finding(SECTION, "back ends", Status.FAIL, problem, _load_remedy(), data)
    value = ", ".join(present) + (f" (not built: {', '.join(missing)})" if missing else "")
    return Finding(SECTION, "back ends", Status.OK, value, data=data)


def _versions(patient: Patient) -> Iterator[Finding]:
    """Whether the parts are this command's, or those of another Sobor, as SOBOR_PREFIX may name."""
    version = (patient.ask("version") or {}).get("version", __version__)
    if version != __version__:
        value = f"those in {patient.native.prefix} are of version {version}"
        remedy = build_remedy()
        if patient.environ.get(PREFIX_VARIABLE):
            remedy = f"use the command that belongs to them, or unset {PREFIX_VARIABLE}"
        yield Finding(SECTION, "parts", Status.WARN, value, remedy, {"version": version})


def _load(library: Path, patient: Patient) -> str:
    """What the dynamic linker says against a back end, such as a library that is not here."""
    try:
        answer = patient.run([sys.executable, "-I", "-c", _LOAD, str(library)], _SANITIZED)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{library}: {error}"
    if answer.returncode == 0:
        return ""
    said = answer.stderr.strip() or f"exit {answer.returncode}"
    return said if str(library) in said else f"{library}: {said}"


def _load_remedy() -> str:
    again = build_remedy("build Sobor on this machine, and install it again")
    return f"install the library that is missing on this node, or {again}"


def _settings(patient: Patient) -> Iterator[Finding]:
    for name, value in variables.present(patient.environ).items():
        yield Finding(SECTION, name, Status.NOTE, f"set to {value}", data={"value": value})
    try:
        known = patient.native.query("variables", environ=patient.environ)
        unknown = variables.unknown_present(patient.native, patient.environ)
    except SoborError as error:
        remedy = error.remedy or _load_remedy()
        yield Finding(SECTION, "sobor-query", Status.FAIL, error.message, remedy)
        return
    for variable in known:
        if variable["name"] == variables.SWITCH and variable["value"] == "off":
            remedy = f"unset {variables.SWITCH}"
            yield Finding(SECTION, "switch", Status.WARN, "Sobor is switched off", remedy)
        if variable.get("error"):
            remedy = f"set {variable['name']} right, or unset it"
            yield Finding(SECTION, variable["name"], Status.WARN, variable["error"], remedy)
    for warning in unknown:
        yield Finding(SECTION, "variables", Status.WARN, warning)
