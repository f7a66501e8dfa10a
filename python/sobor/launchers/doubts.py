# SPDX-License-Identifier: BSD-3-Clause
"""What may keep a command from doing what is meant, though its words are right."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from sobor import elf
from sobor.errors import SoborError
from sobor.launchers.forward import LD_PRELOAD, Forward
from sobor.launchers.options import options_of, program_index, split_programs
from sobor.launchers.recognition import Family, Launcher
from sobor.system.cpus import read_cpus
from sobor.system.files import Files

_SUBMITTERS = frozenset("sbatch qsub bsub msub oarsub condor_submit".split())
_CONTAINERS = frozenset("apptainer singularity docker podman shifter enroot ch-run".split())
# Launchers by their names: mpirun_rsh and mpiexec.slurm too, which are of no family.
_BEGINNINGS = ("mpirun", "mpiexec")
_STARTERS = frozenset({"prun", "prte"})
_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
# What tells Open MPI how many ranks may run where.
_PLACES = frozenset("H host hostfile machinefile default-hostfile oversubscribe".split())
_MANAGERS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "PRTE_MCA_ras_simulator_slots")
# Beginnings of variables with its parameters; those that make each hardware thread a place.
_PARAMETERS = ("OMPI_", "PRTE_", "PMIX_")
_THREADS = ("hwtcpus", "use_hwthreads_as_cpus=1", "use_hwthreads_as_cpus=true")
_ABI_OF = {Family.OPENMPI: "ompi40", Family.HYDRA: "mpich12"}
_NAME_OF = {"ompi40": "Open MPI", "mpich12": "MPICH or Intel MPI"}


def refuse_submitter(command: list[str]) -> None:
    """A command that only queues another one starts no ranks."""
    name = Path(command[0]).name
    flux = name == "flux" and command[1:2] and command[1] in ("batch", "submit")
    if name in _SUBMITTERS or flux:
        raise SoborError(
            f"{command[0]} queues a job and does not start its ranks",
            "put sobor run -- before the launcher, inside the script that is submitted",
        )


def doubts(
    launcher: Launcher, arguments: list[str], programs: list[str], forward: Forward
) -> list[str]:
    """One warning for each."""
    return [
        *_of_preload(launcher, arguments),
        *filter(None, (_other_mpi(launcher, program) for program in programs)),
        *_of_containers(arguments, programs, forward),
        *(_of_openmpi(launcher, arguments, forward.environ)),
    ]


def _of_preload(launcher: Launcher, arguments: list[str]) -> list[str]:
    found = []
    name = launcher.path.name
    if launcher.family is Family.PLAIN and (name in _STARTERS or name.startswith(_BEGINNINGS)):
        found.append(
            f"{launcher.path} is no launcher that Sobor knows; the preload goes through the "
            "environment, which it may or may not hand on"
        )
    for part in split_programs(arguments):
        for word in part[program_index(part, launcher.family) :]:
            if word.startswith(f"{LD_PRELOAD}="):
                found.append(f"{word} after the program's name takes the place of Sobor's preload")
    return found


def _other_mpi(launcher: Launcher, program: str) -> str | None:
    """A program of one MPI under another's launcher: every rank is a job of its own."""
    expected, found = _ABI_OF.get(launcher.family), elf.mpi_of(program)
    if expected is None or found is None or expected == found:
        return None
    return (
        f"{program} is linked with {_NAME_OF[found]}, and {launcher.path} is of "
        f"{launcher.product or _NAME_OF[expected]}: each rank would be a job of one; use the "
        "launcher of the program's MPI"
    )


def _of_containers(arguments: list[str], programs: list[str], forward: Forward) -> list[str]:
    # Ranks load nothing outside its folder; who names it in full sets LD_PRELOAD inside.
    preload = Path(forward.preload)
    if any(_has_path(word, [preload, *preload.parents[:-1]]) for word in arguments):
        return []
    return [
        f"{program}: the container has its own files; Sobor is seen inside if its folder is bound "
        f"at the same place, {preload.parent}, and LD_PRELOAD handed on"
        for program in programs
        if Path(program).name in _CONTAINERS
    ]


def _has_path(word: str, paths: list[Path]) -> bool:
    """Whether one of the paths is in a word such as /opt:/opt or source=/opt,target=/opt."""
    named = {Path(part) for part in re.split("[:,=]", word) if part.startswith("/")}
    return not named.isdisjoint(paths)


def _of_openmpi(launcher: Launcher, arguments: list[str], environ: Mapping[str, str]) -> list[str]:
    if launcher.family is not Family.OPENMPI:
        return []
    parts = split_programs(arguments)
    options = {name for part in parts for _, name in options_of(part, Family.OPENMPI)}
    found = []
    allowed = "allow-run-as-root" in options or all(environ.get(name) for name in _ROOT)
    if os.geteuid() == 0 and not allowed:
        found.append("Open MPI refuses to run as root: add --allow-run-as-root, or be another user")
    found += _of_slots(parts, options, environ)
    return found


def _of_slots(
    parts: list[list[str]], options: set[str], environ: Mapping[str, str]
) -> Iterator[str]:
    """More ranks than Open MPI starts where nothing tells it how many may run where."""
    # Names and values of its parameters, with the words of the command.
    said = [f"{name}={value}" for name, value in environ.items() if name.startswith(_PARAMETERS)]
    text = " ".join([*said, *(word for part in parts for word in part)]).lower()
    placed = options & _PLACES or "oversubscribe" in text or "default_hostfile=" in text
    if placed or any(environ.get(name) for name in _MANAGERS):
        return
    ranks, cpus = _ranks(parts), read_cpus(Files())
    threads = "use-hwthread-cpus" in options or any(word in text for word in _THREADS)
    places, name = (len(cpus.allowed), "processors") if threads else (cpus.cores, "cores")
    if ranks > places:
        yield (
            f"Open MPI starts no more ranks than {name} unless told: {ranks} are asked for, "
            f"{places} {name} are here; add --oversubscribe"
        )


def _ranks(parts: list[list[str]]) -> int:
    """The ranks that the words ask for; 0 for a part that leaves it open."""
    total = 0
    for part in parts:
        for index, name in options_of(part, Family.OPENMPI):
            if name in ("n", "np", "c") and part[index + 1 : index + 2]:
                total += int(part[index + 1]) if part[index + 1].isdecimal() else 0
    return total
