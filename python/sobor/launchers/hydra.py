# SPDX-License-Identifier: BSD-3-Clause
"""Hydra, the launcher of MPICH and Intel MPI, and MPICH's gforker, which shares its -genv.

As measured: -genv reaches every program of an MPMD command wherever it stands, and MPI_Comm_spawn
too, even beside -genvnone; -env of one program beats it. Of two -genv of one name Hydra takes the
last and gforker the first, so a name is given once.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sobor.launchers.forward import LD_PRELOAD, Forward, Launch
from sobor.launchers.options import join_programs, options_of, split_programs
from sobor.launchers.recognition import Family, Launcher


@dataclass(frozen=True)
class _Setting:
    """A -genv or -env option of the user: where its words are and what they say."""

    option: str
    first: int
    last: int
    name: str
    value: str


def build(_launcher: Launcher, arguments: list[str], forward: Forward) -> Launch:
    """The arguments with -genv options for the preload and the variables."""
    parts = split_programs(arguments)
    settings = [_settings(part) for part in parts]
    everywhere = {s.name: s.value for part in settings for s in part if s.option == "genv"}
    values = {
        LD_PRELOAD: forward.merged_preload(everywhere.get(LD_PRELOAD)),
        **forward.chosen,
    }
    built = [
        _replaced(part, own, values, forward) for part, own in zip(parts, settings, strict=True)
    ]
    added = []
    for name, value in {**forward.present, **values}.items():
        if name not in everywhere:
            added += ["-genv", name, value]
    return Launch(added + join_programs(built))


def _settings(part: list[str]) -> list[_Setting]:
    found = []
    for index, option in options_of(part, Family.HYDRA):
        if option in ("env", "genv") and index + 1 < len(part):
            name, equals, value = part[index + 1].partition("=")
            if equals:
                found.append(_Setting(option, index, index + 1, name, value))
            elif index + 2 < len(part):
                found.append(_Setting(option, index, index + 2, name, part[index + 2]))
    return found


def _replaced(
    part: list[str], settings: list[_Setting], values: Mapping[str, str], forward: Forward
) -> list[str]:
    """The words with our value, in the two-word form, in each setting of a name of ours."""
    part = list(part)
    for setting in reversed(settings):
        value = values.get(setting.name)
        if setting.option == "env" and setting.name == LD_PRELOAD:
            value = forward.merged_preload(setting.value)
        if value is not None:
            part[setting.first + 1 : setting.last + 1] = [setting.name, value]
    return part
