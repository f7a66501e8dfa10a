# SPDX-License-Identifier: BSD-3-Clause
"""Runs sobor-simulate and reads what it says."""

import json
import subprocess
from pathlib import Path
from typing import Any

from sobor.errors import SoborError
from sobor.native import AS_GIVEN, Native, build_remedy

Row = dict[str, Any]

# It ran, and found a fault in what it ran.
_FAULT = 1


def check_engine(native: Native) -> None:
    """Says early that the simulator was not built."""
    if not native.simulator.is_file():
        raise SoborError(f"{native.simulator} is missing", build_remedy())


def run_engine(native: Native, arguments: tuple[str, ...], timeline: Path | None) -> list[Row]:
    """One run; its rows."""
    command = [str(native.simulator), *arguments]
    if timeline is not None:
        command += ["--timeline", str(timeline)]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, errors=AS_GIVEN, check=False
        )
    except OSError as error:
        raise SoborError(f"{native.simulator}: {error.strerror}", build_remedy()) from None
    if answer.returncode not in (0, _FAULT):
        raise SoborError(_detail(answer))
    try:
        rows = json.loads(answer.stdout)
    except json.JSONDecodeError as error:
        if answer.returncode != 0:
            raise SoborError(_detail(answer)) from None
        raise SoborError(f"{' '.join(command)}: no JSON in its answer ({error})") from None
    for row in rows:
        if row.get("violations"):
            row.setdefault("report", answer.stderr.strip())
    return rows


def _detail(answer: subprocess.CompletedProcess[str]) -> str:
    detail = answer.stderr.strip()
    if not detail:
        ended = answer.returncode
        how = f"signal {-ended}" if ended < 0 else f"exit status {ended}"
        detail = f"{Path(answer.args[0]).name}: it ended with {how}"
    return detail.removeprefix("sobor-simulate: ").removeprefix("sobor: ")
