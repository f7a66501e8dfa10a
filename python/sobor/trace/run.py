# SPDX-License-Identifier: BSD-3-Clause
"""`sobor trace`: runs a command with Sobor and has every rank record its collective calls."""

import os
import sys
from pathlib import Path

from sobor import console
from sobor.errors import SoborError
from sobor.run import begin, prepare

VARIABLE = "SOBOR_TRACE"


def trace(command: list[str], folder: str, settings: list[str], show: bool) -> None:
    """Takes the place of this process by the command, or shows it."""
    path = Path(folder).absolute()
    if not folder:
        raise SoborError("--output: expected a folder, found nothing")
    if path.exists() and not path.is_dir():
        raise SoborError(f"--output: expected a folder, found {folder}")
    if path.is_dir() and any(path.glob("*.trace")):
        raise SoborError(
            f"--output: {folder} holds a trace already", "name another folder, or remove it"
        )
    # What stands in the way is said before a folder is made.
    launch = prepare(command, [*settings, f"{VARIABLE}={path}"], os.environ)
    if not show:
        _make(path, folder)
        console.err().print(
            f"sobor: calls are recorded in {folder}; afterwards: sobor report {folder}"
        )
        sys.stderr.flush()
    begin(launch, show)


def _make(path: Path, folder: str) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SoborError(f"--output: {folder}: {error.strerror}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise SoborError(f"--output: expected a folder that can be written to, found {folder}")
