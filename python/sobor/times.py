# SPDX-License-Identifier: BSD-3-Clause
"""Times as people write them: 500us, 4ns, 0.1s."""

from sobor.errors import SoborError

_UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def short_time(seconds: float) -> str:
    """Three figures, in the unit that people would take: 1.24 ms."""
    units = [("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)]
    unit, size = next((each for each in units if seconds >= each[1]), units[-1])
    value = seconds / size
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"


def parse_time(text: str, option: str, or_zero: bool = False) -> float:
    """Nanoseconds, of a text such as 4us; `or_zero`: 0us is one too."""
    number = text.rstrip("nums")
    try:
        value = float(number) * _UNITS[text[len(number) :]]
    except (ValueError, KeyError):
        value = -1.0
    if not 0 <= value < float("inf") or (value == 0 and not or_zero):
        raise SoborError(f'{option}: expected a time such as 4us, found "{text}"')
    return value
