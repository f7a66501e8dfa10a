# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's srun, which hands over its own environment.

Only --export or SLURM_EXPORT_ENV, which sbatch sets for its --export, can hold variables back: then
ours are added to their list by name. As measured, a name without a value takes it from the
environment, commas in it included, and NONE and NIL mean an empty list.
"""

import re

from sobor.errors import SoborError
from sobor.launchers.forward import LD_PRELOAD, Forward, Launch
from sobor.launchers.options import join_programs, options_of, split_programs
from sobor.launchers.recognition import Family, Launcher

_EXPORT_VARIABLE = "SLURM_EXPORT_ENV"
_COMMA_OUTSIDE_QUOTES = re.compile(r",(?=(?:[^']*'[^']*')*[^']*$)")


def build(_launcher: Launcher, arguments: list[str], forward: Forward) -> Launch:
    """The arguments as they are, but for --export of each program, and the environment for srun."""
    parts = [list(part) for part in split_programs(arguments)]
    inherited = forward.environ.get(_EXPORT_VARIABLE)
    exports = [_export_option(part) for part in parts]
    entries = [_entries(inherited if at is None else value) for at, value in exports]
    env = forward.as_environment(_user_preload(entries))
    for part, (position, _), own in zip(parts, exports, entries, strict=True):
        if not own:
            continue
        listed = _with_ours(own, forward)
        if position is None:
            env[_EXPORT_VARIABLE] = listed
        else:
            is_one_word = part[position].startswith("--export=")
            part[position] = f"--export={listed}" if is_one_word else listed
    return Launch(join_programs(parts), env)


def _user_preload(entries: list[dict[str, str | None]]) -> str | None:
    """The preload in the lists: the environment has one for all programs."""
    found = {own.get(LD_PRELOAD) for own in entries}
    if len(found) > 1:
        raise SoborError(
            "LD_PRELOAD in --export differs between the programs of this command",
            "give every program the same one, or set it in the environment instead",
        )
    return found.pop()


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


def _entries(export: str | None) -> dict[str, str | None]:
    """The list of --export: name to value, or None where the environment has it."""
    entries = {}
    for word in _COMMA_OUTSIDE_QUOTES.split(export) if export else ():
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
