# SPDX-License-Identifier: BSD-3-Clause
"""The files that models write: JSON and a picture."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from sobor.errors import SoborError


def check(json_file: str | None, plot: str | None) -> None:
    """Refuses what cannot be written, before anything is computed."""
    for option, name in (("--json", json_file), ("--plot", plot)):
        if name in (None, "-"):
            continue
        path = Path(name)
        if path.is_dir() or not os.access(path.absolute().parent, os.W_OK):
            raise SoborError(f"{option}: expected a file that can be written, found {path}")
    if plot and Path(plot).suffix.lower() != ".svg":
        raise SoborError(f"--plot: expected a file name that ends in .svg, found {plot}")


def finish(answers: Any, json_file: str | None, plot: str | None) -> None:
    """Writes the answers, and says which files there are."""
    if json_file is not None:
        Path(json_file).write_text(json.dumps(answers, indent=2) + "\n", encoding="utf-8")
    for written in filter(None, (json_file, plot)):
        print(f"\nwritten to {written}", file=sys.stderr)
