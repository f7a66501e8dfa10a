# SPDX-License-Identifier: BSD-3-Clause
"""What a check found, and what all checks may look at."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from sobor.errors import SoborError
from sobor.native import Native
from sobor.system.files import Files

_SECONDS = 10


class Status(str, Enum):
    """How good a finding is."""

    OK = "ok"
    NOTE = "note"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    section: str
    name: str
    status: Status
    value: str
    remedy: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The finding as a JSON object."""
        return {
            "section": self.section,
            "name": self.name,
            "status": self.status.value,
            "value": self.value,
            "remedy": self.remedy,
            "data": dict(self.data),
        }


@dataclass(frozen=True)
class Patient:
    """The machine and the Sobor that are looked at."""

    native: Native | None
    missing: SoborError | None = None
    files: Files = field(default_factory=Files)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    launchers: tuple[str, ...] = ()

    def ask(self, *question: str) -> Any:
        """The core's answer, or None where there is none: sobor.doctor.parts says why."""
        if self.native is None:
            return None
        try:
            return self.native.query(*question, environ=self.environ)
        except SoborError:
            return None

    def run(self, command: list[str], changes: Mapping[str, str]) -> subprocess.CompletedProcess:
        """A short program in this environment with these changes, and what it has said.

        OSError, subprocess.TimeoutExpired: it could not be run, or has not ended.
        """
        return subprocess.run(
            command,
            env={**self.environ, **changes},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
