# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/reference/ from the tables in the code: variables.md and algorithms.md.

With --check nothing is written; the exit status is 1 if a page is not as the code says.
"""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from sobor.native import find_native
from sobor.variables import kind_of

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
NOTE = "<!-- Written by `make docs` from the tables in the code; do not edit. -->\n"


def variables_page(variables: list[dict[str, Any]]) -> str:
    """The page of all SOBOR_* variables."""
    lines = [
        "# Variables",
        "",
        NOTE,
        "Set them in the environment, or for one run with `sobor run --set NAME=VALUE --`. A wrong",
        "value, or one out of range, is reported on standard error, and the default is used. Names",
        "that are none are reported too. `sobor info --variables` shows the values in force.",
    ]
    for variable in variables:
        kind = kind_of(variable, "`")
        default = f"`{variable['default']}`" if variable["default"] else "empty"
        lines += ["", f"## {variable['name']}", "", f"{kind}; default {default}", ""]
        lines.append(variable["doc"])
    return "\n".join(lines) + "\n"


def algorithms_page(algorithms: list[dict[str, Any]]) -> str:
    """The page of all algorithms, by collective."""
    lines = [
        "# Algorithms",
        "",
        NOTE,
        "`SOBOR_<COLLECTIVE>_ALGORITHM` forces one; `sobor info --collective NAME --bytes SIZE",
        "--ranks N` tells which one would be chosen, and why.",
    ]
    for collective in dict.fromkeys(algorithm["collective"] for algorithm in algorithms):
        lines += [
            "",
            f"## {collective}",
            "",
            "| name | what it does | source |",
            "| --- | --- | --- |",
        ]
        for algorithm in algorithms:
            if algorithm["collective"] == collective:
                former = "".join(f" Formerly `{name}`." for name in algorithm["former"])
                doc = algorithm["doc"] + former
                if algorithm["baseline"]:
                    doc += " A baseline: taken by name alone."
                cells = (f"`{algorithm['name']}`", doc, algorithm["source"])
                lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Writes or checks the pages."""
    native = find_native()
    pages = {
        "variables.md": variables_page(native.query("variables", environ={})),
        "algorithms.md": algorithms_page(native.query("algorithms", environ={})),
    }
    if sys.argv[1:] == ["--check"]:
        return _check(pages)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"wrote docs/reference/{name}")
    return 0


def _check(pages: dict[str, str]) -> int:
    stale = [
        name
        for name, text in pages.items()
        if not (FOLDER / name).is_file() or (FOLDER / name).read_text(encoding="utf-8") != text
    ]
    for name in stale:
        print(f"docs/reference/{name} is not as the code says; run: make docs")
    return 1 if stale else 0


sys.exit(main())
