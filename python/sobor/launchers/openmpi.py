# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI's mpirun, and PRRTE's prterun below it.

As measured: version 4.1 reads -x for one program of an MPMD command only, and the last -x of a name
counts; from version 5 on the first one counts, for all programs. So every program is given the same
values, once. Version 5 does not hand them to processes of MPI_Comm_spawn, which see the launcher's
own environment: there the variables go into that too. Version 4.1 refuses -x beside
mca_base_env_list and ignores it beside --app.
"""

from collections.abc import Mapping

from sobor.errors import SoborError
from sobor.launchers.forward import LD_PRELOAD, Forward, Launch
from sobor.launchers.options import join_programs, options_of, split_programs
from sobor.launchers.recognition import Family, Launcher

_ENV_LIST = "mca_base_env_list"


def build(launcher: Launcher, arguments: list[str], forward: Forward) -> Launch:
    """The arguments with -x options for the preload and the variables."""
    parts = split_programs(arguments)
    from_5_on = launcher.major is not None and launcher.major >= 5
    if not from_5_on:
        _refuse_env_list(parts, forward)
        if any(option == "app" for part in parts for _, option in _options(part)):
            warning = "Open MPI ignores -x beside --app: only ranks on this node will use Sobor"
            return Launch(arguments, forward.as_environment(), [warning])
    preload = forward.merged_preload(_user_preload(parts, forward))
    values = {LD_PRELOAD: preload, **forward.chosen}
    given = {name for part in parts for name, _ in _x_options(part).values()}
    kept = {name: value for name, value in forward.present.items() if name not in given}
    built = [_with_x_options(part, values, kept) for part in parts]
    return Launch(join_programs(built), values if from_5_on else {})


def _options(part: list[str]):
    return options_of(part, Family.OPENMPI)


def _x_options(part: list[str]) -> dict[int, tuple[str, str | None]]:
    """The -x options of one program: position of the value word to name and value."""
    found = {}
    for index, option in _options(part):
        if option == "x" and index + 1 < len(part):
            name, equals, value = part[index + 1].partition("=")
            found[index + 1] = (name, value if equals else None)
    return found


def _user_preload(parts: list[list[str]], forward: Forward) -> str | None:
    """The preload among the user's -x options, which must be the same for all programs."""
    found = []
    for part in parts:
        own = None
        for name, value in _x_options(part).values():
            if name == LD_PRELOAD:
                own = forward.inherited_preload if value is None else value
        found.append(own)
    if len(set(found)) > 1:
        raise SoborError(
            "-x LD_PRELOAD differs between the programs of this command",
            "give every program the same -x LD_PRELOAD, or set it in the environment instead",
        )
    return found[0]


def _with_x_options(
    part: list[str], values: Mapping[str, str], kept: Mapping[str, str]
) -> list[str]:
    """The program's words: the user's -x with our values where we have one, the rest added."""
    part = list(part)
    replaced = set()
    for index, (name, _) in _x_options(part).items():
        if name in values:
            part[index] = f"{name}={values[name]}"
            replaced.add(name)
    added = []
    for name, value in {**kept, **values}.items():
        if name not in replaced:
            added += ["-x", f"{name}={value}"]
    return added + part


def _refuse_env_list(parts: list[list[str]], forward: Forward) -> None:
    used = [f"OMPI_MCA_{_ENV_LIST}"] if f"OMPI_MCA_{_ENV_LIST}" in forward.environ else []
    for part in parts:
        for index, option in _options(part):
            if option in ("mca", "gmca") and part[index + 1 : index + 2] == [_ENV_LIST]:
                used.append(f"{part[index]} {_ENV_LIST}")
    if used:
        raise SoborError(
            f"{used[0]}: Open MPI does not allow it beside -x, which Sobor needs",
            "name those variables with -x instead",
        )
