# SPDX-License-Identifier: BSD-3-Clause
"""Reads what the ranks of a profiled job wrote (src/trace/trace.h); needs no other package."""

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sobor.errors import SoborError
from sobor.profile.sums import Call, Sums
from sobor.sizes import counted

#: In the order of src/base/collectives.h.
COLLECTIVES = (
    *("barrier", "bcast", "scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv"),
    *("alltoall", "alltoallv", "alltoallw", "reduce", "allreduce", "reduce_scatter"),
    *("reduce_scatter_block", "scan", "exscan"),
)
MAGIC = b"sobortrc"
VERSION = 2
_HEADER = struct.Struct("<8s4I3iI4Q" + "QqQQ" * 2 + "6Q64s64s")
_HEADER_NAMES = (
    *("magic", "version", "header_bytes", "record_bytes", "comm_bytes", "rank", "size", "pid"),
    *("end", "world", "node", "opened", "closed"),
    *(f"{name}{at}" for at in (0, 1) for name in ("own", "offset", "error", "known")),
    *("records", "calls", "comms", "algorithms", "cells", "counts", "host", "library"),
)
_COMM = struct.Struct("<QQIiiI40s")
_NAME = 40
_RECORD = struct.Struct("<4QIiiHBB")
_CELL = struct.Struct("<3QHBBB3x")
_COUNT = struct.Struct("<Q40s")
CELL_BYTES, COUNT_BYTES = _CELL.size, _COUNT.size
#: Communicators that every rank has, whether it calls on them or not.
OF_ALL = ("MPI_COMM_WORLD", "MPI_COMM_SELF")
#: As src/trace/profile.c keeps them: all of the first, of later ones ever fewer.
ALL_KEPT = 1 << 9


@dataclass(frozen=True)
class File:
    """One rank's file: its header by names, and its parts."""

    header: dict[str, Any]
    comms: list[tuple]
    records: list[tuple]
    cells: list[tuple]
    counts: list[tuple]

    @property
    def clocks(self) -> list[tuple[int, int]]:
        """What is known of rank 0's clock: own time and offset."""
        at = self.header
        return [(at[f"own{i}"], at[f"offset{i}"]) for i in (0, 1) if at[f"known{i}"]]


def _text(raw: bytes) -> str:
    return raw.rstrip(b"\0").decode(errors="replace")


def read_file(path: Path) -> File:
    """One file, judged to be whole."""
    content = path.read_bytes()
    if len(content) < _HEADER.size or not content.startswith(MAGIC):
        raise SoborError(f"{path}: expected a file that a rank of sobor profile wrote")
    header = dict(zip(_HEADER_NAMES, _HEADER.unpack_from(content), strict=True))
    sizes = [header[name] for name in ("header_bytes", "record_bytes", "comm_bytes")]
    if header["version"] != VERSION or sizes != [_HEADER.size, _RECORD.size, _COMM.size]:
        raise SoborError(
            f"{path}: expected version {VERSION} of the format, found {header['version']}",
            "the command and the library are of different versions of Sobor: install both again",
        )
    at = _HEADER.size
    parts = {}
    kinds = (
        *(("comms", _COMM), ("algorithms", struct.Struct(f"{_NAME}s")), ("records", _RECORD)),
        *(("cells", _CELL), ("counts", _COUNT)),
    )
    for name, kind in kinds:
        end = at + header[name] * kind.size
        if end > len(content):
            raise SoborError(f"{path}: expected {header[name]} {name}, found the end of the file")
        parts[name] = list(kind.iter_unpack(content[at:end]))
        at = end
    del parts["algorithms"]
    return File(header, **parts)


def read(folder: Path) -> tuple[dict[str, Any], int]:
    """The profile of the job whose ranks wrote into the folder; how many of them left no file.

    Of several jobs it is the one with most files.
    """
    files = [read_file(path) for path in sorted(folder.glob("*.profile"))]
    if not files:
        raise SoborError(
            "no rank wrote a profile",
            "does the program call MPI_Init, which with sessions alone it need not, and did it "
            "reach MPI_Finalize? sobor doctor looks at the MPIs",
        )
    worlds: dict[int, list[File]] = {}
    for file in files:
        worlds.setdefault(file.header["world"], []).append(file)
    chosen = sorted(max(worlds.values(), key=len), key=lambda file: file.header["rank"])
    return _join(chosen), chosen[0].header["size"] - len(chosen)


def _join(files: list[File]) -> dict[str, Any]:
    sums = Sums()
    for file, clock in zip(files, _clocks(files), strict=True):
        labels = [label(entry) for entry in file.comms]
        for name in (*OF_ALL, *labels[1:]):
            sums.member(name, file.header["rank"])
        for cell in file.cells:
            sums.add(*_cell_of(cell, labels), file.header["rank"], cell[0], cell[1])
        for call in _calls(file, labels, clock):
            sums.sample(call)
    other: dict[str, int] = {}
    for file in files:
        for calls, name in file.counts:
            other[_text(name)] = other.get(_text(name), 0) + calls
    first = files[0].header
    return {
        "wall_s": max(file.header["closed"] - file.header["opened"] for file in files) / 1e9,
        "ranks": first["size"],
        "host": _host(_text(first["library"])),
        "calls": sums.rows(),
        "other": [
            {"function": name, "calls": calls}
            for name, calls in sorted(other.items(), key=lambda item: -item[1])
            if calls > 0
        ],
        "communicators": _communicators(files),
    }


def _communicators(files: list[File]) -> list[dict[str, Any]]:
    """What each communicator was used for; those that are alike together, most calls first."""
    calls: dict[tuple, float] = {}
    longest: dict[tuple, dict[str, int]] = {}
    for file in files:
        for cell in file.cells:
            entry = file.comms[cell[3]]
            if cell[3] == 0 or entry[5]:
                continue
            key = (entry[0], entry[2], entry[4], label(entry))
            operation, size = _cell_of(cell, [label(entry)] * (cell[3] + 1))[:2]
            calls[key] = calls.get(key, 0.0) + cell[0] / entry[4]
            of_one = longest.setdefault(key, {})
            of_one[operation] = max(size, of_one.get(operation, 0))
    alike: dict[tuple, list[float]] = {}
    for key, operations in longest.items():
        uses = tuple(sorted(operations.items()))
        bucket = int(calls[key]).bit_length()
        alike.setdefault((key[3], key[2], uses, bucket), []).append(calls[key])
    rows = [
        {
            **{"communicator": name, "ranks": ranks, "number": len(each)},
            **{"calls": sum(each) / len(each), "operations": dict(uses)},
        }
        for (name, ranks, uses, _bucket), each in alike.items()
    ]
    return sorted(rows, key=lambda row: -row["number"] * row["calls"])


def _host(library: str) -> str:
    """The host MPI's name and version, of its own words for itself."""
    return re.sub(r"\s*Version:\s*| v(?=\d)", " ", library).strip()


def label(entry: tuple) -> str:
    """A communicator as people know it: by its name, else by its ranks."""
    name, size, between = _text(entry[6]), entry[4], entry[5]
    return name or f"of {counted(size, 'rank')}" + (" between two groups" if between else "")


def _cell_of(cell: tuple, labels: list[str]) -> tuple[str, int, str, bool]:
    _calls, _time, _bytes, comm, collective, size, served = cell
    name = labels[comm] if comm else "others"
    return COLLECTIVES[collective], 0 if size == 0 else 1 << (size - 1), name, bool(served)


def weight(number: int) -> int:
    """For how many calls one that was kept stands."""
    return 1 << (number // ALL_KEPT).bit_length()


def _calls(file: File, labels: list[str], clock: tuple[int, Callable]) -> Iterator[Call]:
    """The calls whose times were kept."""
    domain, shift = clock
    for entered, left, size, _site, number, _root, error, comm, what, algorithm in file.records:
        entry = file.comms[comm]
        if comm == 0 or entry[5] or error:
            continue
        yield Call(
            key=(entry[0], entry[2], entry[4], number),
            cell=(
                *(COLLECTIVES[what], 1 << (size.bit_length() - 1) if size else 0),
                *(labels[comm], algorithm != 0),
            ),
            ranks=entry[4],
            domain=domain,
            entered=shift(entered),
            left=shift(left),
            weight=weight(number),
        )


def _clocks(files: list[File]) -> list[tuple[int, Callable[[int], int]]]:
    """For each file, whose clock its times become comparable with, and by what."""
    points: dict[int, list[tuple[int, int]]] = {file.header["node"]: [] for file in files}
    for file in files:
        points[file.header["node"]] += file.clocks
    if len(points) == 1 or not all(points.values()):
        return [(file.header["node"], lambda own: own) for file in files]
    return [(0, _line(points[file.header["node"]])) for file in files]


def _line(points: list[tuple[int, int]]) -> Callable[[int], int]:
    (begin, base), (end, last) = points[0], points[-1]
    slope = (last - base) / (end - begin) if end > begin else 0.0
    return lambda own: own + base + round((own - begin) * slope)
