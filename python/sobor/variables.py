# SPDX-License-Identifier: BSD-3-Clause
"""The SOBOR_* variables: those given with --set, checked against the core's own list."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from sobor.errors import SoborError
from sobor.native import PREFIX_VARIABLE, Native

SWITCH = "SOBOR"
SERVED = "SOBOR_COLLECTIVES"
PREFIX = "SOBOR_"
# Read by the command itself, set by environment modules, ours or a site's own (as Spack writes
# them), or of the build (docs/install.md), the bench and the tests; the library passes over the
# same ones (src/base/config.c).
FOREIGN_VARIABLES = frozenset(
    {
        *(PREFIX_VARIABLE, "SOBOR_PYTHON", "SOBOR_PRELOAD"),
        *(f"SOBOR_{word}" for word in ("ROOT", "DIR", "HOME", "VERSION")),
        *(f"SOBOR_{abi}_INCLUDE" for abi in ("OMPI", "MPICH", "MPIABI")),
    }
)
FOREIGN_PREFIXES = ("SOBOR_BENCH_", "SOBOR_TEST_")


def present(environ: Mapping[str, str]) -> dict[str, str]:
    """The library's variables that the environment sets, sorted by name."""
    return {
        name: environ[name]
        for name in sorted(environ)
        if (name == SWITCH or name.startswith(PREFIX)) and not _is_foreign(name)
    }


def _is_foreign(name: str) -> bool:
    return name in FOREIGN_VARIABLES or name.startswith(FOREIGN_PREFIXES)


def parse_settings(settings: Iterable[str]) -> dict[str, str]:
    """Turns NAME=VALUE words into variables; NAME may leave out SOBOR_."""
    chosen = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise SoborError(f'--set: expected NAME=VALUE, found "{setting}"')
        chosen[_full_name(name.strip())] = value
    return chosen


def is_on(name: str, chosen: Mapping[str, str], environ: Mapping[str, str]) -> bool:
    """Whether a switch that is off by default is on."""
    return {**environ, **chosen}.get(name, "").lower() in ("on", "1", "yes", "true")


def refuse_unserved(asked_by: str, native: Native, *names: str) -> None:
    """Refuses an environment in which what is measured as Sobor would be the host MPI.

    `names` are SOBOR and SOBOR_COLLECTIVES, or one of them.
    """
    for variable in native.query("variables"):
        name, value = variable["name"], variable["value"]
        if name in names and value != variable["default"]:
            raise SoborError(
                f"{asked_by}: {name} is set to {value}, so the host MPI would be measured in the "
                "place of Sobor",
                f"unset {name}",
            )


def _full_name(name: str) -> str:
    name = name.upper()
    return name if name == SWITCH or name.startswith(PREFIX) else PREFIX + name


def check_settings(native: Native, chosen: Mapping[str, str], environ: Mapping[str, str]) -> None:
    """Refuses unknown names and wrong values, as the library itself would see them."""
    if not chosen:
        return
    variables = native.query("variables", environ={**environ, **chosen})
    known = {variable["name"]: variable for variable in variables}
    for name in chosen:
        if name not in known:
            raise SoborError(f"--set: {name} is not a variable of Sobor", _suggestion(name, known))
        problem = known[name].get("error")
        if problem:
            raise SoborError(f"--set: {_with_name(name, problem)}")


def unknown_present(native: Native, environ: Mapping[str, str]) -> list[str]:
    """One warning for each SOBOR_* variable of the environment that the library ignores."""
    names = present(environ)
    if not names:
        return []
    known = {variable["name"] for variable in native.query("variables", environ=environ)}
    return [
        f"{name} in the environment is not a variable of Sobor ({_suggestion(name, known)})"
        for name in names
        if name not in known
    ]


def kind_of(variable: Mapping[str, Any], mark: str = "") -> str:
    """The type of a variable and what it takes, such as "bytes: auto, 4KiB to 1GiB"."""
    words = [f"{mark}{word}{mark}" for word in variable.get("choices") or []]
    if variable.get("least") is not None:
        words.append(f"{mark}{variable['least']}{mark} to {mark}{variable['most']}{mark}")
    return f"{variable['type']}: {', '.join(words)}" if words else variable["type"]


def _with_name(name: str, problem: str) -> str:
    return problem if name in problem else f"{name}: {problem}"


def _suggestion(name: str, known: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    listing = "sobor info --variables lists them all"
    return f"did you mean {nearest[0]}? {listing}" if nearest else listing
