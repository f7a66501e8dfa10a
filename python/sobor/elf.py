# SPDX-License-Identifier: BSD-3-Clause
"""Looks into a program's file for what a preload cannot reach: static linking, set-user-id, ..."""

import mmap
import os
import re
import shutil
import stat
import struct

_MAGIC = b"\x7fELF"
_CLASS_64, _LITTLE_ENDIAN = 2, 1
# Where a file says what it is for: class, order of bytes, and the processor in two bytes.
_HEADER_BYTES, _KIND = 20, (4, 5, 18, 19)
_PT_INTERP = 3
_SHT_DYNAMIC, _DT_NEEDED = 6, 1
_SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB, SHT_DYNSYM
_SYMBOL = struct.Struct("<IBBHQQ")
_PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
_ENTRY_POINTS = (b"\0PMPI_Init\0", b"\0PMPI_Init_thread\0", b"\0MPI_Init\0", b"\0MPI_Init_thread\0")


def preload_obstacle(program: str, preload: str | None = None) -> str | None:
    """Why a preload, of that file, has no effect on this program, with the remedy; or None."""
    path = shutil.which(program)
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_mode & (stat.S_ISUID | stat.S_ISGID):
                return f"{program} is set-user-id: the system ignores preloads for it"
            if file.read(len(_MAGIC)) != _MAGIC:
                return None
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
                if preload is not None and _is_for_another(image[:_HEADER_BYTES], preload):
                    return f"{program} is for another kind of processor than {preload}"
                return _obstacle_in(image, program)
    except (OSError, ValueError, IndexError, OverflowError, struct.error):
        # Not a program as the dynamic linker knows it.
        return None


def _is_for_another(header: bytes, preload: str) -> bool:
    """Whether two files differ in word length, order of bytes or processor: the linker skips it."""
    with open(preload, "rb") as file:
        ours = file.read(_HEADER_BYTES)
    return ours.startswith(_MAGIC) and any(header[at] != ours[at] for at in _KIND)


_LIBRARIES = (
    ("ompi40", re.compile(rb"libmpi(_\w+)?\.so\.40")),
    ("mpich12", re.compile(rb"libmpi(ch\w*|cxx|fort|_\w+)?\.so\.12")),
)


def mpi_of(program: str) -> str | None:
    """The ABI of the MPI library that a program names among those it needs, or None."""
    path = shutil.which(program)
    try:
        with open(path or "", "rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return None
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
                return _abi_of(_needed(image))
    except (OSError, ValueError, IndexError, OverflowError, struct.error):
        return None


def _abi_of(libraries: list[bytes]) -> str | None:
    return next(
        (abi for abi, names in _LIBRARIES for library in libraries if names.fullmatch(library)),
        None,
    )


def _needed(image: mmap.mmap) -> list[bytes]:
    (offset,) = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    sections = list(_headers(image, _SECTION_HEADER, offset, size, count))
    names = []
    for section in sections:
        if section[1] == _SHT_DYNAMIC:
            strings = sections[section[6]][4]
            table = image[section[4] : section[4] + section[5]]
            for tag, value in struct.iter_unpack("<qQ", table):
                if tag == _DT_NEEDED:
                    start = strings + value
                    names.append(image[start : image.find(b"\0", start)])
    return names


def _obstacle_in(image: mmap.mmap, program: str) -> str | None:
    if image[4] != _CLASS_64 or image[5] != _LITTLE_ENDIAN:
        return None
    if not _has_interpreter(image):
        return f"{program} is linked statically: it cannot be preloaded; link it without -static"
    if _defines_mpi(image):
        return (
            f"{program} has MPI linked into it statically: Sobor cannot reach its calls; "
            "link it against the shared libmpi"
        )
    return None


def _headers(image: mmap.mmap, layout: struct.Struct, offset: int, size: int, count: int):
    for index in range(count):
        yield layout.unpack_from(image, offset + index * size)


def _has_interpreter(image: mmap.mmap) -> bool:
    (offset,) = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    return any(h[0] == _PT_INTERP for h in _headers(image, _PROGRAM_HEADER, offset, size, count))


def _defines_mpi(image: mmap.mmap) -> bool:
    (offset,) = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    sections = list(_headers(image, _SECTION_HEADER, offset, size, count))
    return any(
        _defines_one(image, section, sections[section[6]])
        for section in sections
        if section[1] in _SYMBOL_TABLES and section[6] < len(sections)
    )


def _defines_one(image: mmap.mmap, symbols: tuple, strings: tuple) -> bool:
    """Whether a symbol table has an entry point of MPI that is not left to another library."""
    first, last = strings[4], strings[4] + strings[5]
    wanted = {place + 1 - first for e in _ENTRY_POINTS if (place := image.find(e, first, last)) > 0}
    if not wanted:
        return False
    table = memoryview(image)[symbols[4] : symbols[4] + symbols[5]]
    try:
        return any(s[0] in wanted and s[3] != 0 for s in _SYMBOL.iter_unpack(table))
    finally:
        table.release()
