# SPDX-License-Identifier: BSD-3-Clause
"""Writes what follows from the tables in the code: docs/reference/ and the manual pages.

With --check nothing is written; the exit status is 1 if a page is not as the code says.
"""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "scripts")]

from command_pages import man_pages, markdown  # noqa: E402

from sobor.native import find_native  # noqa: E402
from sobor.variables import kind_of  # noqa: E402

MANUAL = "share/man/man1"
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


def commands_page() -> str:
    """The page of all commands and their options."""
    lines = ["# Commands", "", NOTE, "What `sobor COMMAND --help` says; also as manual pages."]
    return "\n".join([*lines, *markdown()]) + "\n"


def main() -> int:
    """Writes or checks the pages."""
    native = find_native()
    pages = {
        "docs/reference/variables.md": variables_page(native.query("variables", environ={})),
        "docs/reference/algorithms.md": algorithms_page(native.query("algorithms", environ={})),
        "docs/reference/commands.md": commands_page(),
        **{f"{MANUAL}/{name}": text for name, text in man_pages().items()},
    }
    if sys.argv[1:] == ["--check"]:
        return _check(pages)
    for name in _left_over(pages):
        (ROOT / name).unlink()
    for name, text in pages.items():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(text, encoding="utf-8")
    print(f"wrote {len(pages)} pages to docs/reference and {MANUAL}")
    return 0


def _left_over(pages: dict[str, str]) -> list[str]:
    """Manual pages of commands that there are no more."""
    found = {str(path.relative_to(ROOT)) for path in (ROOT / MANUAL).glob("*.1")}
    return sorted(found - set(pages))


def _check(pages: dict[str, str]) -> int:
    stale = [
        name
        for name, text in pages.items()
        if not (ROOT / name).is_file() or (ROOT / name).read_text(encoding="utf-8") != text
    ]
    stale += _left_over(pages)
    for name in stale:
        print(f"{name} is not as the code says; run: make docs")
    return 1 if stale else 0


sys.exit(main())
