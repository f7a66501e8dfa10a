# SPDX-License-Identifier: BSD-3-Clause
"""`sobor tune`: measures this machine, and keeps its prices for the jobs that come."""

from typing import Any

from rich.console import Console
from rich.text import Text

from sobor import console
from sobor.errors import SoborError
from sobor.native import find_native

_USUAL_SECONDS = 3.0
_QUICK_SECONDS = 0.5


def tune(quick: bool, as_json: bool) -> None:
    """Measures, and writes what was found and where it is kept."""
    seconds = _QUICK_SECONDS if quick else _USUAL_SECONDS
    answer = find_native().tune("--seconds", str(seconds))
    if as_json:
        console.print_json(answer)
    else:
        _write(answer, console.out())
    errors = {entry["error"] for entry in answer["entries"]} - {None}
    if errors:
        raise SoborError(f"what was measured is not kept: {'; '.join(sorted(errors))}")


def _write(answer: dict[str, Any], out: Console) -> None:
    console.heading(out, f"Prices in {answer['file']}")
    names = list(answer["entries"][0]["prices"])
    grid = console.table(out, "ranks", *names, right=("ranks", *names))
    for entry in answer["entries"]:
        row = [
            f"{entry['prices'][name]:.3g} ns" if name in entry["prices"] else "" for name in names
        ]
        grid.add_row(*(Text(cell) for cell in (str(entry["ranks"]), *row)))
    out.print(console.indented(grid))
    out.print("  sobor info --prices lists all that follows from them")
