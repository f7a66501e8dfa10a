# SPDX-License-Identifier: BSD-3-Clause
"""Recognises a launcher by its name, its links, or what it says of itself."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from sobor.errors import SoborError

_VERSION_SECONDS = 10


class Family(str, Enum):
    """How a launcher wants to be told the environment of its ranks."""

    OPENMPI = "openmpi"
    HYDRA = "hydra"
    SRUN = "srun"
    PLAIN = "plain"


_NAMES = {
    "orterun": Family.OPENMPI,
    "prterun": Family.OPENMPI,
    "mpirun.openmpi": Family.OPENMPI,
    "mpiexec.openmpi": Family.OPENMPI,
    "mpiexec.hydra": Family.HYDRA,
    "mpiexec.gforker": Family.HYDRA,
    "mpirun.mpich": Family.HYDRA,
    "mpiexec.mpich": Family.HYDRA,
    "srun": Family.SRUN,
}
# These names are used by every MPI.
_AMBIGUOUS = frozenset({"mpirun", "mpiexec"})
# Open MPI's own name of its launcher from version 5 on; it does not answer --version everywhere.
_OPENMPI_5_NAMES = frozenset({"prterun"})

# A word that begins like this is meant to be a launcher.
_LAUNCHER_BEGINNINGS = ("mpirun", "mpiexec", "orte", "prte", "srun")

LAUNCHER_NAMES = frozenset(_NAMES) | _AMBIGUOUS


@dataclass(frozen=True)
class Launcher:
    """A launcher on this machine."""

    word: str
    path: Path
    family: Family
    product: str = ""
    version: str = ""

    @property
    def major(self) -> int | None:
        """The first number of the version, where it is known."""
        if self.path.name in _OPENMPI_5_NAMES:
            return 5
        number = self.version.partition(".")[0]
        return int(number) if number.isdecimal() else None

    @property
    def takes_hydra_options(self) -> bool:
        """Whether it is Hydra itself and not gforker, which only shares its -genv."""
        return self.family is Family.HYDRA and self.path.name != "mpiexec.gforker"

    @property
    def label(self) -> str:
        """What to call it: Open MPI 4.1.4."""
        return f"{self.product} {self.version}".strip() or self.word


def recognise(word: str, environ: Mapping[str, str] | None = None) -> Launcher:
    """Finds a command on the PATH and says what kind of launcher it is."""
    environ = os.environ if environ is None else environ
    found = shutil.which(word, path=environ.get("PATH"))
    if found is None:
        raise _not_found(word, environ)
    path = Path(found).absolute()
    name = _telling_name(path)
    if name is None:
        return Launcher(word, path, Family.PLAIN)
    product, version = _parse_banner(_banner(path))
    family = _NAMES.get(name) or _family_of(product)
    return Launcher(word, path, family, product, version)


def _telling_name(path: Path) -> str | None:
    """The first name along the links that says most, or None for no launcher at all."""
    names = [path.name, path.resolve().name]
    for name in names:
        if name in _NAMES:
            return name
    return next((name for name in names if name in _AMBIGUOUS), None)


def _banner(path: Path) -> str:
    try:
        answer = subprocess.run(
            [str(path), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout + answer.stderr


_BANNERS = (
    ("Open MPI", re.compile(r"\((?:Open ?MPI|OpenRTE)\)\s+(\S+)", re.IGNORECASE)),
    ("PRRTE", re.compile(r"\(PRRTE\)\s+(\S+)|PRRTE.*?(\d+\.\S+)", re.IGNORECASE)),
    ("Intel MPI", re.compile(r"Intel\(R\) MPI Library.*?Version\s+(\S+)", re.DOTALL)),
    ("MPICH", re.compile(r"HYDRA build details:.*?Version:\s+(\S+)", re.DOTALL)),
    ("Slurm", re.compile(r"^slurm(?:-wlm)?\s+(\S+)", re.MULTILINE)),
)


def _parse_banner(banner: str) -> tuple[str, str]:
    for product, pattern in _BANNERS:
        match = pattern.search(banner)
        if match:
            return product, next((group for group in match.groups() if group), "")
    return "", ""


def _family_of(product: str) -> Family:
    return {
        "Open MPI": Family.OPENMPI,
        "PRRTE": Family.OPENMPI,
        "Intel MPI": Family.HYDRA,
        "MPICH": Family.HYDRA,
    }.get(product, Family.PLAIN)


def known_on_path(environ: Mapping[str, str] | None = None) -> list[Path]:
    """The launchers on the PATH, one path for each program behind its links."""
    environ = os.environ if environ is None else environ
    found: dict[Path, Path] = {}
    for name in sorted(LAUNCHER_NAMES, key=_preference):
        for folder in environ.get("PATH", os.defpath).split(os.pathsep):
            path = Path(folder or ".", name)
            if os.access(path, os.X_OK) and path.is_file():
                found.setdefault(path.resolve(), path.absolute())
    return list(found.values())


def _preference(name: str) -> tuple[bool, bool, str]:
    """Names that say which MPI it is come first, then mpirun before mpiexec."""
    return name in _AMBIGUOUS, not name.startswith("mpirun"), name


def _not_found(word: str, environ: Mapping[str, str]) -> SoborError:
    if os.sep in word and os.path.isdir(word):
        return SoborError(f"{word}: expected a program, found a folder")
    if os.sep in word and os.path.exists(word):
        return SoborError(f"{word}: not a program that can be run", f"chmod +x {word}")
    names = sorted({path.name for path in known_on_path(environ)})
    if not Path(word).name.startswith(_LAUNCHER_BEGINNINGS):
        remedy = "check the name, or give its path"
    elif names:
        remedy = f"launchers found here: {', '.join(names)}"
    else:
        remedy = "no MPI launcher is on the PATH; install one, for example: apt install openmpi-bin"
    return SoborError(f"{word}: command not found", remedy)
