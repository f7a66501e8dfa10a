# SPDX-License-Identifier: BSD-3-Clause
"""Prints the Python packages that pyproject.toml asks for, one a line, for pip install -r.

Arguments name optional groups to add, for example: dev.
"""

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
    wanted = list(project["dependencies"])
    for group in sys.argv[1:]:
        wanted += project["optional-dependencies"][group]
    print("\n".join(wanted))


main()
