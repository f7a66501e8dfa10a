# SPDX-License-Identifier: BSD-3-Clause
"""MPI libraries: which ABI a library has, and which one belongs to a launcher."""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sobor.errors import SoborError
from sobor.launchers import Family, Launcher

# The names of the library for each ABI, as its back end is called.
NAMES = {
    "ompi40": ("libmpi.so.40",),
    "mpich12": ("libmpi.so.12", "libmpich.so.12"),
    "mpiabi1": ("libmpi_abi.so.1",),
}
_ABIS_OF = {
    Family.OPENMPI: ("ompi40", "mpiabi1"),
    Family.HYDRA: ("mpich12", "mpiabi1"),
}
_FOLDERS = ("lib", "lib64", "lib/release", "lib/*-linux-*")


@dataclass(frozen=True)
class Library:
    """A shared MPI library."""

    abi: str
    path: Path


def library_at(path: str) -> Library:
    """The library that a user names, with the ABI that its name tells."""
    file = Path(path).absolute()
    if not file.is_file():
        raise SoborError(f"--libmpi: {path}: no such file")
    for abi, names in NAMES.items():
        if any(real.name.startswith(name) for name in names for real in (file, file.resolve())):
            return Library(abi, file)
    known = ", ".join(name for names in NAMES.values() for name in names)
    raise SoborError(f"--libmpi: expected one of {known}, found {file.name}")


def library_of(launcher: Launcher, environ: Mapping[str, str] | None = None) -> Library | None:
    """The library that programs started by this launcher use, or None where none is found."""
    environ = os.environ if environ is None else environ
    wanted = [(abi, name) for abi in _ABIS_OF.get(launcher.family, ()) for name in NAMES[abi]]
    for prefix in dict.fromkeys((launcher.path.parents[1], launcher.path.resolve().parents[1])):
        for abi, name in wanted:
            for folder in _FOLDERS:
                for path in sorted(prefix.glob(f"{folder}/{name}")):
                    return Library(abi, path)
    for abi, name in wanted:
        path = _in_search_path(name, environ)
        if path is not None:
            return Library(abi, path)
    return None


def _in_search_path(name: str, environ: Mapping[str, str]) -> Path | None:
    for folder in environ.get("LD_LIBRARY_PATH", "").split(":"):
        if folder and Path(folder, name).is_file():
            return Path(folder, name)
    return system_libraries().get(name)


def system_libraries() -> dict[str, Path]:
    """The libraries that the dynamic linker's cache knows, name to path."""
    for tool in ("ldconfig", "/sbin/ldconfig"):
        try:
            answer = subprocess.run([tool, "-p"], capture_output=True, text=True, check=False)
        except OSError:
            continue
        return parse_cache(answer.stdout)
    return {}


def parse_cache(text: str) -> dict[str, Path]:
    """Reads what `ldconfig -p` prints; 64-bit entries only."""
    found: dict[str, Path] = {}
    for match in re.finditer(r"^\s*(\S+) \((.*?)\) => (\S+)$", text, re.MULTILINE):
        name, kind, path = match.groups()
        if "64" in kind:
            found.setdefault(name, Path(path))
    return found
