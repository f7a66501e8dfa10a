# SPDX-License-Identifier: BSD-3-Clause
"""The files a machine starts with, written in the form the Linux kernel reads (cpio, "newc")."""

from __future__ import annotations

import re
import stat
import subprocess
from pathlib import Path
from typing import BinaryIO

END = "TRAILER!!!"
ELF = b"\x7fELF"
LOADER = "/lib64/ld-linux-x86-64.so.2"


def libraries(program: Path) -> list[Path]:
    """The shared libraries a file needs, all levels down; none for a file that is no program.

    As `ldd` lists them, which is a script and takes four times as long.
    """
    with program.open("rb") as file:
        if file.read(len(ELF)) != ELF:
            return []
    command = [LOADER, "--list", program]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return [Path(path) for path in re.findall(r"(?:=> |^\s*)(/\S+) \(0x", listed, re.MULTILINE)]


def _write_padded(file: BinaryIO, data: bytes) -> None:
    file.write(data)
    file.write(bytes(-file.tell() % 4))


def _write_entry(file: BinaryIO, number: int, path: str, mode: int, content: bytes) -> None:
    name = path.encode() + b"\0"
    fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0]
    header = "070701" + "".join(f"{field:08x}" for field in fields)
    _write_padded(file, header.encode() + name)
    _write_padded(file, content)


class Archive:
    """Collects files under the paths they will have in the machine."""

    def __init__(self):
        self._entries: dict[str, tuple[int, bytes]] = {}
        # Where /lib is a link to usr/lib here, it is there too: one copy serves both names.
        for folder in map(Path, ("/bin", "/sbin", "/lib", "/lib64")):
            if folder.is_symlink():
                self.link(str(folder), str(folder.readlink()))

    def folder(self, path: str) -> None:
        """An empty folder, and those above it."""
        parent = str(Path(path).parent)
        if path in ("/", ""):
            return
        self.folder(parent)
        self._entries.setdefault(path, (stat.S_IFDIR | 0o755, b""))

    def link(self, path: str, target: str) -> None:
        """A symbolic link."""
        self._add(path, stat.S_IFLNK | 0o777, target.encode())

    def text(self, path: str, content: str, mode: int = 0o644) -> None:
        """A file with this content."""
        self._add(path, stat.S_IFREG | mode, content.encode())

    def file(self, source: Path, path: str | None = None) -> None:
        """A copy of a file with the libraries it needs; at its own place if no path is given."""
        where = path or self._place(source)
        if where in self._entries:
            return
        self._add(where, stat.S_IFREG | stat.S_IMODE(source.stat().st_mode), source.read_bytes())
        for library in libraries(source):
            self.file(library)

    def tree(self, folder: Path, path: str | None = None) -> None:
        """All files of a folder, with the libraries they need."""
        for source in sorted(folder.rglob("*")):
            if source.is_file():
                self.file(source, path and f"{path}/{source.relative_to(folder)}")

    def write(self, target: Path) -> None:
        """The archive, folders before what is in them."""
        with target.open("wb") as file:
            for number, (path, (mode, content)) in enumerate(sorted(self._entries.items()), 1):
                _write_entry(file, number, path.lstrip("/"), mode, content)
            _write_entry(file, 0, END, 0, b"")

    def _add(self, path: str, mode: int, content: bytes) -> None:
        self.folder(str(Path(path).parent))
        self._entries[path] = (mode, content)

    @staticmethod
    def _place(source: Path) -> str:
        return str(source.parent.resolve() / source.name)
