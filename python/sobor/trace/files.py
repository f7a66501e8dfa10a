# SPDX-License-Identifier: BSD-3-Clause
"""Reads the files of a trace (src/trace/trace.h) into one table of calls with one clock."""

import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sobor.errors import SoborError
from sobor.profile.files import CELL_BYTES, COLLECTIVES, COUNT_BYTES, MAGIC, VERSION
from sobor.sizes import counted
from sobor.trace.sites import Sites

_NAME = 40
CLOCK = [("own", "<u8"), ("offset", "<i8"), ("error", "<u8"), ("known", "<u8")]
HEADER = np.dtype(
    [
        ("magic", "S8"),
        *((name, "<u4") for name in ("version", "header_bytes", "record_bytes", "comm_bytes")),
        *(("rank", "<i4"), ("size", "<i4"), ("pid", "<i4"), ("end", "<u4")),
        *((name, "<u8") for name in ("world", "node", "opened", "closed")),
        ("clock", CLOCK, (2,)),
        *((name, "<u8") for name in ("records", "calls", "comms", "algorithms")),
        *((name, "<u8") for name in ("cells", "counts")),
        *(("host", "S64"), ("library", "S64")),
    ]
)
RECORD = np.dtype(
    [
        *((name, "<u8") for name in ("entered", "left", "bytes", "site")),
        *(("number", "<u4"), ("root", "<i4"), ("error", "<i4"), ("comm", "<u2")),
        *(("collective", "u1"), ("algorithm", "u1")),
    ]
)
COMM = np.dtype(
    [
        *(("members", "<u8"), ("calls", "<u8"), ("ordinal", "<u4")),
        *(("rank", "<i4"), ("size", "<i4"), ("between", "<u4"), ("name", f"S{_NAME}")),
    ]
)
#: One call of one rank; times in nanoseconds from the first MPI_Init on, by rank 0's clock.
CALL = np.dtype(
    [
        *(("entered", "<f8"), ("left", "<f8"), ("bytes", "<i8"), ("number", "<i8")),
        *(("rank", "<i4"), ("root", "<i4"), ("error", "<i4"), ("comm", "<i4"), ("site", "<i4")),
        *(("algorithm", "<i4"), ("collective", "<i4")),
    ]
)
FINALIZED, EXITED, SIGNAL = 0, 1, 2
HOST = "host"


@dataclass(frozen=True)
class File:
    """One rank's file."""

    path: Path
    header: np.void
    comms: np.ndarray
    algorithms: list[str]
    records: np.ndarray
    maps: str

    def __getattr__(self, name: str) -> int:
        return int(self.header[name])

    @property
    def host(self) -> str:
        """The host's name."""
        return self.header["host"].decode(errors="replace")

    @property
    def lost(self) -> int:
        """Calls for which there was no more room: the first."""
        return self.calls - self.records.size

    @property
    def ending(self) -> str | None:
        """How the rank ended, if not by MPI_Finalize."""
        if self.end == FINALIZED:
            return None
        if self.end == EXITED:
            return "ended without MPI_Finalize"
        number = self.end - SIGNAL
        try:
            return f"ended by {signal.Signals(number).name}"
        except ValueError:
            return f"ended by signal {number}"


@dataclass(frozen=True)
class Comm:
    """A communicator: as all of its members know it."""

    name: str
    size: int
    between: bool


@dataclass
class Trace:
    """All that the ranks of a job recorded."""

    size: int
    ranks: list[int]
    hosts: dict[int, str]
    calls: np.ndarray
    comms: list[Comm]
    sites: list[str]
    algorithms: list[str]
    seconds: dict[int, float]  # from MPI_Init to MPI_Finalize, by rank
    clock_error: float | None  # seconds by which times of two hosts may be wrong; None: unknown
    notes: list[str] = field(default_factory=list)

    @property
    def run(self) -> float:
        """Seconds of all ranks together."""
        return sum(self.seconds.values())


def read_file(path: Path) -> File:
    """One file, judged to be whole."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SoborError(f"{path}: {error.strerror}") from None
    if len(content) < HEADER.itemsize or not content.startswith(MAGIC):
        raise SoborError(f"{path}: expected a file that a rank of sobor trace wrote")
    header = np.frombuffer(content, HEADER, 1)[0]
    sizes = [int(header[name]) for name in ("header_bytes", "record_bytes", "comm_bytes")]
    if header["version"] != VERSION or sizes != [HEADER.itemsize, RECORD.itemsize, COMM.itemsize]:
        raise SoborError(
            f"{path}: expected version {VERSION} of the format, found {header['version']}",
            "read it with the version of Sobor that wrote it",
        )
    return File(path, header, *_parts(path, content, header))


def _parts(path: Path, content: bytes, header: np.void) -> tuple:
    at = HEADER.itemsize
    parts = []
    kinds = (("comms", COMM), ("algorithms", np.dtype(f"S{_NAME}")), ("records", RECORD))
    for name, kind in kinds:
        count = int(header[name])
        if at + count * kind.itemsize > len(content):
            raise SoborError(f"{path}: expected {count} {name}, found the end of the file")
        parts.append(np.frombuffer(content, kind, count, at))
        at += count * kind.itemsize
    comms, algorithms, records = parts
    at += int(header["cells"]) * CELL_BYTES + int(header["counts"]) * COUNT_BYTES
    names = [name.decode(errors="replace") for name in algorithms]
    if records.size and (
        records["comm"].max() >= comms.size
        or records["algorithm"].max() > len(names)
        or records["collective"].max() >= len(COLLECTIVES)
    ):
        raise SoborError(f"{path}: a record names what the file does not have; it is damaged")
    return comms, names, records, content[at:].decode(errors="replace")


def read(place: str, resolve: Callable[[str, int], str] | None = None) -> Trace:
    """The trace in a folder, or of one rank in a file; `resolve` names a place in a program."""
    path = Path(place)
    paths = sorted(path.glob("*.trace")) if path.is_dir() else [path]
    if not paths:
        raise SoborError(
            f"{place}: expected files that end in .trace, found none",
            "sobor trace -o DIR -- LAUNCHER ... writes them, when a job ends that called MPI_Init",
        )
    files, notes = _one_world([read_file(path) for path in paths])
    return _join(sorted(files, key=lambda file: file.rank), notes, Sites(resolve))


def _one_world(files: list[File]) -> tuple[list[File], list[str]]:
    """The files of the job with the most ranks, and a word about the others."""
    worlds: dict[int, list[File]] = {}
    for file in files:
        worlds.setdefault(file.world, []).append(file)
    chosen = max(worlds.values(), key=len)
    ranks = [file.rank for file in chosen]
    twice = {rank for rank in ranks if ranks.count(rank) > 1}
    if twice:
        raise SoborError(
            f"{chosen[0].path.parent}: {ranks.count(min(twice))} files are of rank {min(twice)}",
            "the folder holds several jobs; give each one of its own",
        )
    left = len(files) - len(chosen)
    return chosen, [f"{left} files of other jobs are left out"] if left else []


def _join(files: list[File], notes: list[str], sites: Sites) -> Trace:
    shifts, error = _clocks(files, notes)
    start = min(shift(file.opened) for file, shift in zip(files, shifts, strict=True))
    tables = _Tables()
    parts = [
        _calls_of(file, shift, start, tables, sites)
        for file, shift in zip(files, shifts, strict=True)
    ]
    trace = Trace(
        size=files[0].size,
        ranks=[file.rank for file in files],
        hosts=_hosts(files),
        calls=np.concatenate(parts),
        comms=tables.comms,
        sites=sites.names(),
        algorithms=list(tables.algorithms),
        seconds={file.rank: max(file.closed - file.opened, 1) / 1e9 for file in files},
        clock_error=error,
        notes=notes,
    )
    trace.notes.extend(_incomplete(files))
    return trace


def _hosts(files: list[File]) -> dict[int, str]:
    """Of each rank its host; those of one name, as of containers, are told apart."""
    names: dict[int, str] = {}
    alike: Counter[str] = Counter()
    for file in files:
        if file.node not in names:
            alike[file.host] += 1
            number = alike[file.host]
            names[file.node] = file.host if number == 1 else f"{file.host} ({number})"
    return {file.rank: names[file.node] for file in files}


def _incomplete(files: list[File]) -> list[str]:
    here = {file.rank for file in files}
    missing = sorted(set(range(files[0].size)) - here)
    notes = []
    if missing:
        notes.append(
            f"no file of rank {_listed(missing)}: killed, on another host, or without Sobor"
        )
    lost = [file for file in files if file.lost > 0]
    if lost:
        most = max(lost, key=lambda file: file.lost)
        notes.append(
            f"the first {most.lost} of {most.calls} calls of rank {most.rank} are lost"
            f" ({counted(len(lost), 'rank')} lost some): SOBOR_TRACE_BUFFER is too small for all"
        )
    notes.extend(f"rank {file.rank} {file.ending}" for file in files if file.ending)
    return notes


def _listed(ranks: list[int]) -> str:
    shown = ", ".join(map(str, ranks[:8]))
    return shown + (f" and {len(ranks) - 8} others" if len(ranks) > 8 else "")


def _clocks(files: list[File], notes: list[str]) -> tuple[list[Callable], float | None]:
    """For each file, what its times become on rank 0's clock; the bound of the error in seconds."""
    points = {file.node: [] for file in files}
    for file in files:
        points[file.node] += [clock for clock in file.header["clock"] if clock["known"]]
    if len(points) == 1:
        return [_line([])] * len(files), 0.0
    shifts = [_line(points[file.node]) for file in files]
    if not all(points.values()):
        apart = sum(not of_node for of_node in points.values())
        notes.append(
            f"the clocks of {apart} of {len(points)} hosts were not compared with rank 0's: each"
            " begins with its own first rank, and calls over several hosts are not matched"
        )
        return _begun_together(files, shifts, points), None
    if any(len(of_node) < 2 for of_node in points.values()):
        notes.append("clocks were compared at the start alone: their drift is not known")
    bound = max(int(clock["error"]) for of_node in points.values() for clock in of_node)
    # Either of two hosts may be wrong by as much.
    return shifts, 2 * bound / 1e9


def _begun_together(files: list[File], shifts: list[Callable], points: dict) -> list[Callable]:
    """The shifts, with all hosts that do not know theirs beginning when the first rank does."""
    begin = {}
    for file in files:
        begin[file.node] = min(begin.get(file.node, file.opened), file.opened)
    start = shifts[0](begin[files[0].node])

    def begun(node: int) -> Callable:
        return lambda own: own + (start - begin[node])

    return [
        shift if points[file.node] else begun(file.node)
        for file, shift in zip(files, shifts, strict=True)
    ]


def _line(points: list[np.void]) -> Callable:
    """The line through the offsets that were measured; constant where there is one."""
    if not points:
        return lambda own: own
    first, last = points[0], points[-1]
    begin, base = int(first["own"]), int(first["offset"])
    span = int(last["own"]) - begin
    slope = (int(last["offset"]) - base) / span if span > 0 else 0.0

    def shift(own):
        since = own - begin if isinstance(own, int) else own.astype(np.int64) - begin
        return since + (begin + base) + np.rint(since * slope).astype(np.int64)

    return shift


class _Tables:
    """What files number each in its own way, numbered once for all."""

    def __init__(self):
        self.comms = [Comm("others", 0, True)]
        self._numbers: dict[tuple, int] = {}
        self.algorithms: dict[str, int] = {HOST: 0}

    def comm(self, entry: np.void) -> int:
        """The number of a communicator."""
        key = tuple(int(entry[name]) for name in ("members", "ordinal", "size", "between"))
        if key not in self._numbers:
            name = entry["name"].decode(errors="replace")
            size, between = int(entry["size"]), bool(entry["between"])
            self._numbers[key] = len(self.comms)
            self.comms.append(
                Comm(name or f"of {counted(size, 'rank')}, #{len(self.comms)}", size, between)
            )
        return self._numbers[key]

    def algorithm(self, name: str) -> int:
        """The number of an algorithm."""
        return self.algorithms.setdefault(name, len(self.algorithms))


def _calls_of(file: File, shift: Callable, start: int, tables: _Tables, sites: Sites) -> np.ndarray:
    records = file.records
    calls = np.empty(records.size, CALL)
    for name in ("entered", "left"):
        calls[name] = shift(records[name].astype(np.int64)) - start
    for name in ("bytes", "number", "root", "error", "collective"):
        calls[name] = records[name]
    calls["rank"] = file.rank
    comms = [0] + [tables.comm(entry) for entry in file.comms[1:]]
    calls["comm"] = np.array(comms)[records["comm"]]
    names = [0] + [tables.algorithm(name) for name in file.algorithms]
    calls["algorithm"] = np.array(names)[records["algorithm"]]
    places, where = np.unique(records["site"], return_inverse=True)
    numbers = np.array([sites.number(file.maps, int(place)) for place in places], np.int32)
    calls["site"] = numbers[where] if places.size else 0
    return calls
