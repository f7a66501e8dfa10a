# SPDX-License-Identifier: BSD-3-Clause
"""Files in /dev/shm that earlier runs have left: Sobor's, which should not be, and MPI's."""

import os
import re
import shlex
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from sobor.doctor.finding import Finding, Patient, Status
from sobor.sizes import counted, human_size

SECTION = "Leftovers"
_SHM = "/dev/shm"
# sobor.PID.NAMESPACE.NONCE: the process that made it, and the namespace its number belongs to.
# sobor.board.NAMESPACE.HASH: the file says which process that is, once there is one.
_OURS = re.compile(r"^sobor\.(\d+|board)\.(\d+)\.")
# The words with which a board begins: the process, and when it began. Within so many seconds they
# are there, or nobody comes any more (src/segment/board.c).
_FOUNDER = struct.Struct("=QQ")
FOUNDED_WITHIN = 10
_OF_MPI = re.compile(
    r"vader_segment|sm_segment|ompi_|open_mpi|mpich_sh|Intel_MPI|impi_shm|psm2_shm|xhc_|acoll_"
)


def check(patient: Patient) -> Iterator[Finding]:
    """Lists stale files by their maker."""
    ours = [file for file in _files(patient, _OURS) if _is_stale(patient, file[0])]
    if ours:
        value = f"{_summary(ours)} of Sobor, whose makers have ended"
        remedy = _removal(ours)
        yield Finding(SECTION, _SHM, Status.WARN, value, remedy, {"files": _names(ours)})
    else:
        yield Finding(SECTION, _SHM, Status.OK, "nothing of Sobor", data={"files": []})
    used = _in_use(patient)
    others = [file for file in _files(patient, _OF_MPI) if not _is_used(file[0], used)]
    if others:
        value = f"{_summary(others)} of MPI libraries that no process of yours uses"
        remedy = f"if nobody else runs an MPI program now: {_removal(others)}"
        yield Finding(SECTION, "MPI files", Status.NOTE, value, remedy, {"files": _names(others)})


def _files(patient: Patient, pattern: re.Pattern) -> Iterator[tuple[str, int]]:
    try:
        entries = sorted(patient.files.path(_SHM).iterdir())
    except OSError:
        return
    for entry in entries:
        if pattern.search(entry.name):
            try:
                yield entry.name, entry.lstat().st_size
            except OSError:
                continue


def _in_use(patient: Patient) -> str:
    """What the processes that may be looked at have mapped in /dev/shm, line by line."""
    lines = []
    for process in patient.files.path("/proc").glob("[0-9]*"):
        try:
            maps = (process / "maps").read_text(errors="replace").splitlines()
        except OSError:
            continue
        lines += [line.partition(f"{_SHM}/")[2] for line in maps if f" {_SHM}/" in line]
    return "\n" + "\n".join(lines)


def _is_used(name: str, used: str) -> bool:
    """Whether a file, or one in a folder of this name, is in use."""
    return any(f"\n{name}{end}" in f"{used}\n" for end in ("\n", "/", " "))


def _is_stale(patient: Patient, name: str) -> bool:
    """Whether the maker is a process of this namespace that has ended.

    Boards last as long as the ranks of a node come: of others an old one is left too.
    """
    maker, namespace = _OURS.match(name).groups()
    try:
        mine = patient.files.path("/proc/self/ns/pid").stat().st_ino == int(namespace)
        if maker != "board":
            return mine and _has_ended(patient, maker)
        board = patient.files.path(f"{_SHM}/{name}")
        founder = _founder(board)
        if mine and founder:
            return _has_ended(patient, founder)
        return time.time() - board.stat().st_mtime > FOUNDED_WITHIN
    except OSError:
        return False


def _has_ended(patient: Patient, pid: int | str) -> bool:
    return not patient.files.path(f"/proc/{pid}").exists()


def _founder(board: Path) -> int:
    """The process that came first, or 0. Anybody may have made what has the name, as a pipe."""
    file = os.open(board, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        words = os.read(file, _FOUNDER.size)
    finally:
        os.close(file)
    founder, started = _FOUNDER.unpack(words) if len(words) == _FOUNDER.size else (0, 0)
    return founder if started else 0


def _names(files: list[tuple[str, int]]) -> list[str]:
    return [name for name, _ in files]


def _summary(files: list[tuple[str, int]]) -> str:
    return f"{counted(len(files), 'file')}, {human_size(sum(size for _, size in files))}"


def _removal(files: list[tuple[str, int]]) -> str:
    # Anybody may have made them, and given them names that a shell would take for commands.
    shown = [shlex.quote(f"{_SHM}/{name}") for name in _names(files)[:3]]
    return f"rm -r {' '.join(shown)}{' ...' if len(files) > len(shown) else ''}"
