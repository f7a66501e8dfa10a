# SPDX-License-Identifier: BSD-3-Clause
"""The files that commands write: JSON and pictures."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sobor import drawing
from sobor.errors import SoborError


def check_writable(file: str | None, option: str) -> None:
    """Refuses a file that cannot be written, before the work is done."""
    if file in (None, "-"):
        return
    path = Path(file).absolute()
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise SoborError(f"{option}: {file}: expected a file that can be written")


def check(json_file: str | None, plot: str | None = None) -> None:
    """The same of --json and --plot."""
    check_writable(json_file, "--json")
    check_writable(plot, "--plot")
    if plot:
        if Path(plot).suffix.lower() != ".svg":
            raise SoborError(f"--plot: expected a file name that ends in .svg, found {plot}")
        drawing.load("--plot")


def write_text(option: str, file: str | Path, text: str) -> None:
    """Writes the file that an option names."""
    try:
        Path(file).write_text(_readable(text), encoding="utf-8")
    except OSError as error:
        raise SoborError(f"{option}: {file} cannot be written: {error.strerror}") from None


def write_json(value: Any, file: str | Path, option: str = "--json") -> None:
    """Writes a value as JSON into the file that an option names."""
    write_text(option, file, _json_text(value) + "\n")


def _json_text(value: Any, ascii_only: bool = False) -> str:
    text = json.dumps(value, indent=2, ensure_ascii=ascii_only)
    return _readable(text)


def _readable(text: str) -> str:
    r"""The text, with \udce9 for a byte that is no text: in JSON that is the byte again."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def show(
    answers: Any,
    json_file: str | None,
    write: Callable[[], None],
    *others: str | Path | None,
    make_others: Callable[[], None] = lambda: None,
) -> None:
    """Writes answers as --json says or, by `write`, for people; says which files there are.

    `make_others` makes the other files that are not there yet: what was measured is shown even if
    one of them cannot be made. They are made even if nobody reads to the end, as behind `| head`.
    """
    try:
        if json_file == "-":
            plain = (sys.stdout.encoding or "utf-8").lower() != "utf-8"
            print(_json_text(answers, ascii_only=plain))
        else:
            write()
    finally:
        files = [str(file) for file in (json_file, *others) if file not in (None, "-")]
        if json_file not in (None, "-"):
            write_json(answers, json_file)
        make_others()
        if files:
            print(f"\nwritten to {', '.join(files)}", file=sys.stderr)
