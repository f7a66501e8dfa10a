# SPDX-License-Identifier: BSD-3-Clause
"""Sizes in bytes as people write them: 8, 1K, 64KiB, 1M; and counts of things."""

import re

from sobor.errors import SoborError

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
# Python makes no number of thousands of digits, and nothing here is counted in as many.
_DIGITS_MOST = 20
_PATTERN = re.compile(rf"(\d{{1,{_DIGITS_MOST}}})([KMGT]?)(?:I?B)?", re.IGNORECASE)


def parse_size(text: str, option: str) -> int:
    """The number of bytes that `text` means; units are powers of 1024."""
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        raise SoborError(f'{option}: expected a size such as 8, 1K or 64KiB, found "{text}"')
    return int(match[1]) << _UNITS[match[2].upper()]


def parse_sizes(text: str, option: str) -> list[int]:
    """A comma separated list of sizes, each at least one byte."""
    sizes = [parse_size(word, option) for word in text.split(",")]
    if 0 in sizes:
        raise SoborError(f"{option}: expected sizes of at least 1 byte, found 0")
    return sizes


def parse_counts(text: str, option: str) -> list[int]:
    """A comma separated list of whole numbers of at least 1."""
    counts = []
    for word in text.split(","):
        digits = word.strip()
        if not digits.isdecimal() or len(digits) > _DIGITS_MOST or int(digits) < 1:
            raise SoborError(f'{option}: expected numbers such as 2,4, found "{word}"')
        counts.append(int(digits))
    return counts


def short_size(size: int) -> str:
    """A size in the shortest exact form: 8, 1K, 1500, 64K."""
    for unit, shift in reversed(_UNITS.items()):
        if shift and size and size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return str(size)


def human_size(size: float) -> str:
    """A size to read, rounded: 24 GiB, 512 KiB, 8 B."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if size >= 10 or size == int(size) else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def counted(number: int, thing: str) -> str:
    """So many of a thing: 1 rank, 2 ranks."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
