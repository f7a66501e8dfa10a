# SPDX-License-Identifier: BSD-3-Clause
"""The version, read from the one file VERSION that CMake reads too.

In a checkout and under an install prefix the file stands beside the folder that holds this
package; pip puts it with the native parts.
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_PLACES = (
    _PACKAGE / "native" / "lib" / "sobor" / "VERSION",
    _PACKAGE.parents[1] / "VERSION",
)


def _read() -> str:
    for place in _PLACES:
        if place.is_file():
            return place.read_text(encoding="ascii").strip()
    raise ImportError(f"sobor: no VERSION file; looked for {', '.join(map(str, _PLACES))}")


__version__ = _read()
