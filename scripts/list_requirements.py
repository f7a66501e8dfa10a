# SPDX-License-Identifier: BSD-3-Clause
"""Prints the Python packages that pyproject.toml asks for, one a line, for pip install -r.

Arguments name optional groups to add, for example: dev. Python 3.10 has no reader of TOML, and the
system's may have no pip either, so the lists are taken as they stand: TOML writes a list of plain
strings as Python does.
"""

import ast
import re
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def read_list(text: str, table: str, name: str) -> list[str]:
    """The list of that name in a table."""
    within = re.search(rf"^\[{re.escape(table)}\]$(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
    lines = rf"^{re.escape(name)} = (\[.*?\])$"
    found = within and re.search(lines, within[1], re.MULTILINE | re.DOTALL)
    if not found:
        sys.exit(f"{PROJECT}: expected a list {name} in the table {table}")
    return ast.literal_eval(found[1])


def main() -> None:
    """Prints the requirements."""
    text = PROJECT.read_text(encoding="utf-8")
    wanted = read_list(text, "project", "dependencies")
    for group in sys.argv[1:]:
        wanted += read_list(text, "project.optional-dependencies", group)
    print("\n".join(wanted))


main()
