# SPDX-License-Identifier: BSD-3-Clause
"""One launcher to measure under: its command, its MPI library, and what it needs to start ranks."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from sobor.bench import peers
from sobor.errors import SoborError
from sobor.launchers import Family, Launcher, recognise
from sobor.launchers.options import bare, named_program, split_words
from sobor.libmpi import Library, library_at, library_of
from sobor.native import Native, build_remedy


@dataclass(frozen=True)
class Target:
    """A launcher with the library of its MPI."""

    command: str
    words: list[str]
    launcher: Launcher
    library: Library
    preloads: bool

    def start(self, ranks: int, cores: int) -> list[str]:
        """The words that start so many ranks; what the user said himself is not said again."""
        theirs = {bare(word) for word in self.words[1:]}
        mine = []
        for option in _OPTIONS[self.launcher.family](self.launcher, ranks, cores):
            if bare(option[0]) not in theirs:
                mine += option
        return [*self.words, *mine, "-n", str(ranks)]

    def environment(self, oversubscribed: bool) -> dict[str, str]:
        """Variables that the launcher needs."""
        if self.launcher.family is Family.OPENMPI and os.geteuid() == 0:
            names = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
            return dict.fromkeys(names, "1")
        if self.launcher.product == "Intel MPI" and oversubscribed:
            return {"I_MPI_PIN": "0"}
        return {}


def _openmpi_options(_launcher: Launcher, ranks: int, cores: int) -> list[list[str]]:
    if ranks > cores:
        return [["--bind-to", "none"], ["--oversubscribe"]]
    return [["--bind-to", "core"]]


def _hydra_options(launcher: Launcher, ranks: int, cores: int) -> list[list[str]]:
    if not launcher.takes_hydra_options or launcher.product == "Intel MPI":
        return []
    return [["-bind-to", "none" if ranks > cores else "core"]]


def _srun_options(_launcher: Launcher, ranks: int, cores: int) -> list[list[str]]:
    """Of an allocation the cores of this host are one node's; without one srun asks for its own."""
    nodes = os.environ.get("SLURM_JOB_NUM_NODES", "")
    crowded = nodes.isdecimal() and ranks > int(nodes) * cores
    return [["--overcommit"]] if crowded else []


_OPTIONS = {
    Family.OPENMPI: _openmpi_options,
    Family.HYDRA: _hydra_options,
    Family.SRUN: _srun_options,
}


def make_target(
    command: str,
    native: Native,
    libmpi: str | None = None,
    host_only: bool = False,
    environ: Mapping[str, str] | None = None,
    option: str = "--launcher",
) -> Target:
    """Finds what an option's launcher command stands for, or says why it cannot be measured."""
    named = peers.is_named(command)
    words = peers.words_of(command, environ) if named else split_words(command, option)
    if not words:
        raise SoborError(f"{option}: expected a command, found nothing")
    launcher = recognise(words[0], environ)
    if launcher.family is Family.PLAIN:
        raise SoborError(
            f"{words[0]} is not an MPI launcher that Sobor knows",
            "use Open MPI's mpirun, MPICH's or Intel MPI's mpiexec, or srun",
        )
    program = named_program(words[1:], launcher.family)
    if program is not None:
        raise SoborError(
            f"{command}: expected a launcher with its options, found {program} behind it",
            "leave the program out: the one that is started is Sobor's own",
        )
    library = library_at(libmpi) if libmpi else library_of(launcher, environ)
    if library is None:
        raise SoborError(
            f"{words[0]}: its MPI library was not found", "name it: --libmpi /path/to/libmpi.so.40"
        )
    _check_body(native, library)
    preloads = not host_only and native.backend(library.abi).is_file()
    return Target(command, words, launcher, library, preloads)


def _check_body(native: Native, library: Library) -> None:
    body = native.libraries / f"libsobor-bench-{library.abi}.so"
    if not body.is_file():
        raise SoborError(
            f"{library.path}: the bench was not built for its ABI, {library.abi} (no {body})",
            f"install that MPI's headers; then {build_remedy()}",
        )
