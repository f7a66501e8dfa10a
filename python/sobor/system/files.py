# SPDX-License-Identifier: BSD-3-Clause
"""Reads the small files of /proc and /sys, below a root that tests replace."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Files:
    """The file system as seen from a root folder."""

    root: Path = Path("/")

    def path(self, name: str) -> Path:
        """The real path of an absolute name."""
        return self.root / name.lstrip("/")

    def read(self, name: str) -> str | None:
        """The stripped text of a file, or None where it cannot be read."""
        try:
            return self.path(name).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None

    def read_int(self, name: str) -> int | None:
        """The number in a file, or None where there is none."""
        text = self.read(name)
        try:
            return None if text is None else int(text)
        except ValueError:
            return None

    def field(self, name: str, key: str) -> str | None:
        """The value of a `Key: value` line."""
        for line in (self.read(name) or "").splitlines():
            found, colon, value = line.partition(":")
            if colon and found.strip() == key:
                return value.strip()
        return None


def parse_list(text: str | None) -> list[int]:
    """The numbers of a kernel list such as 0-3,8."""
    numbers = []
    for piece in (text or "").split(","):
        first, dash, last = piece.strip().partition("-")
        if first.isdecimal():
            numbers += range(int(first), int(last if dash else first) + 1)
    return numbers


def format_list(numbers: list[int]) -> str:
    """The reverse of parse_list."""
    pieces: list[list[int]] = []
    for number in sorted(numbers):
        if pieces and number == pieces[-1][-1] + 1:
            pieces[-1].append(number)
        else:
            pieces.append([number])
    return ",".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in pieces)
