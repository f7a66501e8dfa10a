# SPDX-License-Identifier: BSD-3-Clause
"""`sobor simulate --calibrate FILE`: measures this machine and writes a machine file."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from sobor.errors import SoborError
from sobor.inputs import read_json
from sobor.machines import SUFFIX, read_machine
from sobor.native import AS_GIVEN, Native, build_remedy
from sobor.outputs import check_writable, write_json
from sobor.progress import bar


def calibrate(
    native: Native,
    file: str,
    seconds: float,
    complete: Callable[[dict[str, Any]], None] | None = None,
) -> int:
    """Runs sobor-calibrate, checks what it wrote, and tells what was measured.

    `complete` adds what else the machine has. The file is what it was until all is in order.
    """
    if not file.endswith(SUFFIX):
        raise SoborError(f"--calibrate: expected a file name that ends in {SUFFIX}, found {file}")
    check_writable(file, "--calibrate")
    path = Path(file)
    scratch = path.with_name(f".{path.stem}.{os.getpid()}{SUFFIX}")
    try:
        _measure(native, scratch, path.stem, seconds)
        if complete is not None:
            content = read_json(scratch)
            complete(content)
            write_json(content, scratch, "--write")
        read_machine(scratch)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
    machine = read_machine(path)
    assumed = machine.assumed
    print(
        f"written to {file}: {len(machine.parameters) - len(assumed)} numbers measured, "
        f"{len(assumed)} assumed ({', '.join(assumed)})",
        file=sys.stderr,
    )
    return 0


def _measure(native: Native, path: Path, name: str, seconds: float) -> None:
    command = [str(native.calibrator), "--output", str(path), "--name", name]
    command += ["--seconds", str(seconds)]
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with bar(*columns) as progress:
        progress.add_task("measuring; other work on this machine disturbs it")
        try:
            answer = subprocess.run(
                command, stderr=subprocess.PIPE, text=True, errors=AS_GIVEN, check=False
            )
        except OSError as error:
            raise SoborError(f"{native.calibrator}: {error.strerror}", build_remedy()) from None
    if answer.returncode != 0:
        detail = answer.stderr.strip() or f"exit status {answer.returncode}"
        raise SoborError(detail.removeprefix("sobor: "))
