# SPDX-License-Identifier: BSD-3-Clause
"""Names of call sites: an address, by the maps of its process, and by what its program tells."""

import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

_MAP = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ \d+\s+(/.*)$", re.MULTILINE)
_SECONDS = 20
_PT_LOAD = 1
UNKNOWN = "unknown"


class Sites:
    """Call sites of all ranks, numbered; those at one place of one program are one."""

    def __init__(self, resolve: Callable[[str, int], str] | None = None):
        self._resolve = resolve or resolve_by_tools
        self._numbers: dict[tuple[str, int], int] = {}
        self._maps: dict[int, list[tuple[int, int, int, str]]] = {}

    def number(self, maps: str, address: int) -> int:
        """The number of the site with this return address in a process with these maps."""
        for begin, end, offset, path in self._read(maps):
            if begin <= address < end:
                # The call stands before the address that it returns to.
                place = (path, address - 1 - begin + offset)
                break
        else:
            place = ("", address)
        return self._numbers.setdefault(place, len(self._numbers))

    def names(self) -> list[str]:
        """Their names, by number."""
        return [
            self._resolve(path, offset) if path else f"{UNKNOWN} {offset:#x}"
            for path, offset in self._numbers
        ]

    def _read(self, maps: str) -> list[tuple[int, int, int, str]]:
        key = hash(maps)
        if key not in self._maps:
            self._maps[key] = [
                (int(begin, 16), int(end, 16), int(offset, 16), path)
                for begin, end, rights, offset, path in _MAP.findall(maps)
                if "x" in rights
            ]
        return self._maps[key]


def resolve_by_tools(path: str, offset: int) -> str:
    """The line of the source if the program tells, else the function, else the place in it."""
    plain = f"{Path(path).name}+{offset:#x}"
    tool = shutil.which("addr2line")
    address = _address(path, offset)
    if tool is None or address is None:
        return plain
    command = [tool, "-f", "-C", "-e", path, hex(address)]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=True
        ).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return plain
    function, line = (*answer, "??", "??")[:2]
    line = re.sub(r" \(discriminator \d+\)$", "", line)
    if not line.startswith("?") and not line.endswith((":?", ":0")):
        return f"{Path(line).name} {function}"
    return f"{Path(path).name} {function}" if not function.startswith("?") else plain


def _address(path: str, offset: int) -> int | None:
    """What stands at this offset of the file has which address in it."""
    try:
        with open(path, "rb") as file:
            start = file.read(64)
            (table,) = struct.unpack_from("<Q", start, 32)
            size, count = struct.unpack_from("<HH", start, 54)
            file.seek(table)
            headers = file.read(size * count)
            for at in range(0, size * count, size):
                kind, _, begin, address, _, length = struct.unpack_from("<IIQQQQ", headers, at)
                if kind == _PT_LOAD and begin <= offset < begin + length:
                    return offset - begin + address
    except (OSError, struct.error):
        pass
    return None
