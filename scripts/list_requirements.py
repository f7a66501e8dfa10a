# SPDX-License-Identifier: BSD-3-Clause
"""Prints the Python packages that pyproject.toml asks for, one a line, for pip install -r.

Arguments name optional groups to add, for example: dev; behind --without, packages to leave out.
"""

import re
import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Prints the requirements."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    at = sys.argv.index("--without") if "--without" in sys.argv else len(sys.argv)
    groups, without = sys.argv[1:at], sys.argv[at + 1 :]
    wanted = list(project["dependencies"])
    for group in groups:
        wanted += project["optional-dependencies"][group]
    print("\n".join(word for word in wanted if re.match(r"[\w.-]+", word)[0] not in without))


main()
