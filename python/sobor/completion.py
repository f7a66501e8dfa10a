# SPDX-License-Identifier: BSD-3-Clause
"""What shells offer for the beginning of a word: names that Sobor knows.

Each function takes the beginning, and gives the whole words. Where the native parts are not there
it gives none, as there is nobody to tell an error to.
"""

from collections.abc import Iterable
from typing import Any


def _asked(view: str) -> list[dict[str, Any]]:
    from sobor.errors import SoborError
    from sobor.native import find_native

    try:
        return find_native().query(view)
    except SoborError:
        return []


def _in_list(incomplete: str, names: Iterable[str]) -> list[str]:
    """The last name of a list with commas; the ones before it stay."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in dict.fromkeys(names) if name.startswith(last)]


def collectives(incomplete: str) -> list[str]:
    """Names of operations."""
    return _in_list(incomplete, (each["collective"] for each in _asked("algorithms")))


def algorithms(incomplete: str) -> list[str]:
    """Names of algorithms."""
    return _in_list(incomplete, (each["name"] for each in _asked("algorithms")))


def forced(incomplete: str) -> list[str]:
    """Algorithms with their operations, as in bcast:ring."""
    names = (f"{each['collective']}:{each['name']}" for each in _asked("algorithms"))
    return _in_list(incomplete, names)


def settings(incomplete: str) -> list[str]:
    """Variables with = after them, and then their values where these are words."""
    name, equals, _ = incomplete.partition("=")
    found = []
    for each in _asked("variables"):
        full = each["name"]
        shown = full if name.startswith("SOBOR") else full.removeprefix("SOBOR_")
        if not equals:
            found.append(f"{shown}=")
        elif shown == name:
            found = [f"{shown}={value}" for value in each["choices"]]
    return [text for text in found if text.startswith(incomplete)]


def machines(incomplete: str) -> list[str]:
    """Names of machine files."""
    from sobor.machines import machine_files

    return [name for name in machine_files() if name.startswith(incomplete)]


def papers(incomplete: str) -> list[str]:
    """Names of the papers that sobor study repeats."""
    from sobor.study.papers import PAPERS

    return [name for name in PAPERS if name.startswith(incomplete)]
