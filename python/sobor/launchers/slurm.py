# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's srun, which hands over its own environment.

Only --export or SLURM_EXPORT_ENV, which sbatch sets for its --export, can hold variables back: then
ours are added to their list by name. As measured, a name without a value takes it from the
environment, commas in it included, and NONE and NIL mean an empty list.
"""

import re

from sobor.launchers.forward import LD_PRELOAD, Forward, Launch
from sobor.launchers.options import options_of
from sobor.launchers.recognition import Family, Launcher

_EXPORT_VARIABLE = "SLURM_EXPORT_ENV"
_COMMA_OUTSIDE_QUOTES = re.compile(r",(?=(?:[^']*'[^']*')*[^']*$)")


def build(_launcher: Launcher, arguments: list[str], forward: Forward) -> Launch:
    """The arguments as they are, but for --export, and the environment for srun."""
    arguments = list(arguments)
    position, export = _export_option(arguments)
    if position is None:
        export = forward.environ.get(_EXPORT_VARIABLE)
    if not export:
        return Launch(arguments, forward.as_environment())
    entries = _entries(export)
    env = forward.as_environment(entries.get(LD_PRELOAD))
    listed = _with_ours(entries, forward)
    if position is None:
        env[_EXPORT_VARIABLE] = listed
    else:
        is_one_word = arguments[position].startswith("--export=")
        arguments[position] = f"--export={listed}" if is_one_word else listed
    return Launch(arguments, env)


def _export_option(arguments: list[str]) -> tuple[int | None, str | None]:
    """The last --export: the position of the word with its value, and the value."""
    found: tuple[int | None, str | None] = (None, None)
    for index, option in options_of(arguments, Family.SRUN):
        if option != "export":
            continue
        _, equals, value = arguments[index].partition("=")
        if equals:
            found = (index, value)
        elif index + 1 < len(arguments):
            found = (index + 1, arguments[index + 1])
    return found


def _entries(export: str) -> dict[str, str | None]:
    """The list of --export: name to value, or None where the environment has it."""
    entries = {}
    for word in _COMMA_OUTSIDE_QUOTES.split(export):
        name, equals, value = word.partition("=")
        entries[name] = value if equals else None
    return entries


def _with_ours(entries: dict[str, str | None], forward: Forward) -> str:
    theirs = {name for name, value in entries.items() if value is not None}
    ours = [LD_PRELOAD, *(n for n in forward.variables if n in forward.chosen or n not in theirs)]
    kept = [
        name if value is None else f"{name}={value}"
        for name, value in entries.items()
        if name not in ours and name not in ("NONE", "NIL")
    ]
    return ",".join([*kept, *ours])
