# SPDX-License-Identifier: BSD-3-Clause
"""MPI libraries: which ABI a library has, and which one belongs to a launcher."""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sobor.errors import SoborError
from sobor.launchers import Family, Launcher, known_on_path, recognise
from sobor.native import AS_GIVEN

# The names of the library for each ABI, as its back end is called.
NAMES = {
    "ompi40": ("libmpi.so.40",),
    "mpich12": ("libmpi.so.12", "libmpich.so.12"),
    "mpiabi1": ("libmpi_abi.so.1",),
}
# Vendors put a word in: libmpi_cray.so.12, libmpi_gnu_91.so.12.
_OTHER_NAMES = {"mpich12": re.compile(r"libmpi_(?!abi)\w+\.so\.12")}
_ABIS_OF = {
    Family.OPENMPI: ("ompi40", "mpiabi1"),
    Family.HYDRA: ("mpich12", "mpiabi1"),
}
_STANDARD = "mpiabi1"
_SONAME = re.compile(r"\.so\.\d+$")
_FOLDERS = ("lib", "lib64", "lib/release", "lib/*-linux-*")


@dataclass(frozen=True)
class Library:
    """A shared MPI library."""

    abi: str
    path: Path


def library_at(path: str) -> Library:
    """The library that a user names, with the ABI that its name tells."""
    file = Path(path).absolute()
    if file.is_dir():
        raise SoborError(f"--libmpi: expected a library, found the folder {path}")
    if not file.is_file():
        raise SoborError(f"--libmpi: {path}: no such file")
    for real in (file, file.resolve()):
        abi = _abi_of(real.name)
        if abi is not None:
            return Library(abi, file)
    known = ", ".join(name for names in NAMES.values() for name in names)
    raise SoborError(f"--libmpi: expected one of {known}, found {file.name}")


def _abi_of(name: str) -> str | None:
    for abi, names in NAMES.items():
        other = _OTHER_NAMES.get(abi)
        if name.startswith(names) or (other is not None and other.match(name)):
            return abi
    return None


def library_of(launcher: Launcher, environ: Mapping[str, str] | None = None) -> Library | None:
    """The library that programs started by this launcher use, or None where none is found."""
    environ = os.environ if environ is None else environ
    if launcher.family is Family.SRUN:
        return _only_one(launcher, environ)
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


def _only_one(launcher: Launcher, environ: Mapping[str, str]) -> Library | None:
    """Of a launcher that belongs to no MPI: the library that is here, if all are of one ABI."""
    libraries = [*_beside_launchers(environ), *_in_folders(environ)] or _in_cache()
    if len({library.abi for library in libraries}) > 1:
        paths = ", ".join(dict.fromkeys(str(library.path) for library in libraries))
        raise SoborError(
            f"{launcher.word} may start programs of several MPI libraries: {paths}",
            "name the one that is meant: --libmpi FILE",
        )
    return libraries[0] if libraries else None


def _beside_launchers(environ: Mapping[str, str]) -> Iterator[Library]:
    for path in known_on_path(environ):
        other = recognise(str(path), environ)
        library = None if other.family is Family.SRUN else library_of(other, environ)
        if library is not None:
            yield library


def _in_folders(environ: Mapping[str, str]) -> list[Library]:
    folders = filter(None, environ.get("LD_LIBRARY_PATH", "").split(":"))
    return _known(path for folder in folders for path in sorted(Path(folder).glob("libmpi*.so.*")))


def _in_cache() -> list[Library]:
    return _known(path for _, path in sorted(system_libraries().items()))


def _known(paths: Iterable[Path]) -> list[Library]:
    """The MPI libraries among the files, by the names that programs ask for."""
    named = (path for path in paths if _SONAME.search(path.name))
    found = [Library(abi, path) for path in named if (abi := _abi_of(path.name))]
    # The library of the standard ABI stands beside another one of the same MPI.
    others = {library.path.parent for library in found if library.abi != _STANDARD}
    return [each for each in found if each.abi != _STANDARD or each.path.parent not in others]


def _in_search_path(name: str, environ: Mapping[str, str]) -> Path | None:
    for folder in environ.get("LD_LIBRARY_PATH", "").split(":"):
        if folder and Path(folder, name).is_file():
            return Path(folder, name)
    return system_libraries().get(name)


def system_libraries() -> dict[str, Path]:
    """The libraries that the dynamic linker's cache knows, name to path."""
    for tool in ("ldconfig", "/sbin/ldconfig"):
        try:
            answer = subprocess.run(
                [tool, "-p"], capture_output=True, text=True, errors=AS_GIVEN, check=False
            )
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
