# SPDX-License-Identifier: BSD-3-Clause
"""`sobor report` on a file of sobor profile or sobor estimate."""

from pathlib import Path

from sobor import console, outputs
from sobor.errors import SoborError
from sobor.profile import page, views
from sobor.profile.estimate import load


def is_json(file: str) -> bool:
    """Whether it is no trace: by its name, or by how it begins."""
    if file.endswith(".json"):
        return True
    try:
        with open(file, "rb") as content:
            return content.read(1) == b"{"
    except OSError:
        return False


def report(file: str, html: str | None, json_file: str | None, others: dict[str, object]) -> None:
    """Writes the words, and the page: to FILE.html, if no other name is given."""
    for option, value in others.items():
        if value is not None:
            raise SoborError(
                f"{option} is for what sobor trace wrote, found {file}",
                f"leave out {option}, or give the folder of a trace",
            )
    outputs.check(json_file)
    result = load(file)
    path = Path(html) if html is not None else Path(file).with_suffix(".html")
    outputs.write_text("--html", path, page.page(result))
    outputs.show(result, json_file, lambda: views.write(result, console.out()), path)
