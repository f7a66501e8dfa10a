# SPDX-License-Identifier: BSD-3-Clause
"""The JSON files that commands are given: read, and compared with what they should hold."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sobor.errors import SoborError

#: No number of ours is longer than a processor has them.
_MOST = (1 << 63) - 1


@dataclass(frozen=True)
class Value:
    """One value: what it should be, in words, and whether it is."""

    expected: str
    fits: Callable[[Any], bool]


@dataclass(frozen=True)
class Optional:
    """What an object may lack."""

    shape: Any


@dataclass(frozen=True)
class Each:
    """An object of any names, with values of this shape."""

    shape: Any


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -sys.float_info.max <= value <= sys.float_info.max


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= _MOST


TEXT = Value("a text", lambda value: isinstance(value, str))
SWITCH = Value("true or false", lambda value: isinstance(value, bool))
NUMBER = Value("a number", _is_number)
KNOWN_OR_NOT = Value("a number or null", lambda value: value is None or _is_number(value))
POSITIVE = Value("a number above 0", lambda value: _is_number(value) and value > 0)
SIZE = Value("a whole number of at least 0", lambda value: _is_whole(value, 0))
COUNT = Value("a whole number of at least 1", lambda value: _is_whole(value, 1))


def read_json(file: str | Path) -> Any:
    """What is in the file."""
    try:
        return json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise SoborError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SoborError(f"{file}: expected a JSON file, found other bytes") from None
    except json.JSONDecodeError as error:
        raise SoborError(f"{file}: line {error.lineno}: expected JSON: {error.msg}") from None
    except ValueError:
        raise SoborError(f"{file}: expected numbers, found one of thousands of digits") from None
    except RecursionError:
        raise SoborError(f"{file}: expected a JSON file, found brackets too deep") from None


def check_shape(file: str | Path, value: Any, shape: Any, where: str = "") -> None:
    """Refuses a value that is not like `shape`: a Value, or a list or an object of these."""
    if isinstance(shape, Value):
        if not shape.fits(value):
            raise _unlike(file, where, shape.expected, value)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise _unlike(file, where, "a list", value)
        for place, each in enumerate(value):
            check_shape(file, each, shape[0], f"{where}[{place}]")
    elif not isinstance(value, dict):
        raise _unlike(file, where, "an object", value)
    elif isinstance(shape, Each):
        for name, each in value.items():
            check_shape(file, each, shape.shape, _below(where, name))
    else:
        _check_fields(file, value, shape, where)


def _check_fields(file: str | Path, value: dict, shape: dict, where: str) -> None:
    for name, field in shape.items():
        is_optional = isinstance(field, Optional)
        if name in value:
            within = field.shape if is_optional else field
            check_shape(file, value[name], within, _below(where, name))
        elif not is_optional:
            raise SoborError(f"{file}: {where or 'the file'}: expected {name}, found none")


def _below(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _unlike(file: str | Path, where: str, expected: str, value: Any) -> SoborError:
    found = json.dumps(value)
    shown = found if len(found) <= 40 else f"{found[:40]}..."
    return SoborError(f"{file}: {where or 'the file'}: expected {expected}, found {shown}")
