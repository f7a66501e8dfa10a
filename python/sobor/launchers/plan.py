# SPDX-License-Identifier: BSD-3-Clause
"""Plans the launch of a command: finds its launcher and lets that launcher's module build it."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sobor.errors import SoborError
from sobor.launchers import hydra, openmpi, slurm
from sobor.launchers.doubts import doubts, refuse_submitter
from sobor.launchers.forward import LD_PRELOAD, Forward, Launch
from sobor.launchers.options import is_program, program_index, split_programs
from sobor.launchers.recognition import LAUNCHER_NAMES, Family, Launcher, recognise

# Programs that start another one, behind which a launcher is looked for, each with those of its
# options whose value is the next word.
_WRAPPERS = {
    "env": "-u --unset -C --chdir",
    "ionice": "-c --class -n --classdata",
    "nice": "-n --adjustment",
    "nohup": "",
    "numactl": "-C --physcpubind -i --interleave -m --membind -N --cpunodebind -p --preferred "
    "-P --preferred-many -w --weighted-interleave",
    "setsid": "",
    "stdbuf": "-e --error -i --input -o --output",
    "strace": "-a -b -e -E -I -o -O -p -P -s -S -u -U -X",
    "taskset": "",
    "time": "-f --format -o --output",
    "timeout": "-k --kill-after -s --signal",
}

_CLEARING = ("-", "-i", "--ignore-environment")


def plan_launch(command: list[str], forward: Forward) -> Launch:
    """The command with the preload in it, as its launcher wants it."""
    check_preload_path(forward.preload)
    refuse_submitter(command)
    start = _launcher_index(command)
    launcher = recognise(command[start], forward.environ)
    arguments = command[start + 1 :]
    built = _BUILDERS[launcher.family](launcher, arguments, forward)
    programs = _programs(launcher, arguments)
    warnings = [*built.warnings, *doubts(launcher, arguments, programs, forward)]
    # The launchers of the others are given all on their line.
    if launcher.family is Family.PLAIN:
        warnings += _of_cleared_environment(command)
    elif launcher.family is Family.SRUN:
        warnings += _of_cleared_environment(command[:start])
    return replace(
        built,
        argv=[*command[: start + 1], *built.argv],
        warnings=warnings,
        launcher=launcher,
        programs=programs,
    )


def _build_plain(_launcher: Launcher, arguments: list[str], forward: Forward) -> Launch:
    return Launch(arguments, forward.as_environment())


_BUILDERS: dict[Family, Callable[[Launcher, list[str], Forward], Launch]] = {
    Family.PLAIN: _build_plain,
    Family.OPENMPI: openmpi.build,
    Family.HYDRA: hydra.build,
    Family.SRUN: slurm.build,
}


def check_preload_path(preload: str) -> None:
    """Refuses a path that would be read as several, or as another one."""
    if re.search(r"[:\s$]", preload):
        raise SoborError(
            f"{preload}: the dynamic linker cannot preload a path with a space, a colon or a $",
            "install Sobor in another folder, or set SOBOR_PREFIX to a link without such letters",
        )


def _launcher_index(command: list[str]) -> int:
    """Where the launcher is that wrappers start; 0 where they start no launcher that we know."""
    index, with_value = 0, None
    while index < len(command):
        word = command[index]
        name = Path(word).name
        if name in _WRAPPERS:
            with_value = _WRAPPERS[name].split()
        elif with_value is None:
            return 0
        elif name in LAUNCHER_NAMES:
            _refuse_preload_before_launcher(command[:index])
            return index
        elif word in with_value:
            index += 1
        elif is_program(word):
            return 0
        index += 1
    return 0


def _clearing(words: list[str]) -> str | None:
    """The option of env, before what it starts, that clears the environment."""
    following = iter(words)
    for word in following:
        if word in _CLEARING:
            return word
        if word in _WRAPPERS["env"].split():
            next(following, None)
        elif word[:1] != "-":
            break
    return None


def _of_cleared_environment(words: list[str]) -> list[str]:
    """A warning where env, among the words that start the rest, takes away what is given by it."""
    for at, word in enumerate(words):
        name = Path(word).name
        clearing = _clearing(words[at + 1 :]) if name == "env" else None
        if clearing:
            return [
                f"{word} {clearing} takes away the preload, which comes by the environment here; "
                "put sobor run -- behind it"
            ]
        if name not in _WRAPPERS and is_program(word):
            break
    return []


def _refuse_preload_before_launcher(words: list[str]) -> None:
    for word in words:
        if word.startswith(f"{LD_PRELOAD}="):
            raise SoborError(
                f"{word}: Sobor cannot add itself to a preload that {words[0]} sets",
                f"put it in front: {word} sobor run -- ...",
            )


def _programs(launcher: Launcher, arguments: list[str]) -> list[str]:
    """The programs that the ranks run, as far as the words tell."""
    if launcher.family is Family.PLAIN:
        return [str(launcher.path)]
    programs = []
    for part in split_programs(arguments):
        programs += part[program_index(part, launcher.family) :][:1]
    return programs
