# SPDX-License-Identifier: BSD-3-Clause
"""Draws what each rank did when, as an SVG picture."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from sobor.errors import SoborError

# Kind of record to its name and colour; colours differ in lightness too.
KINDS = {
    "wait": ("waiting", "#d5d8dc"),
    "copy": ("copying", "#2166ac"),
    "notify": ("notifying", "#e08214"),
    "host": ("between calls", "#7b3294"),
}
_WIDTH = 1200
_LEFT = 64
_RIGHT = 24
_TOP = 76
_BOTTOM = 44
_STRIP = 6
_NODE_SHADES = ("#5d6d7e", "#aeb6bf")
_TEXT = "#1b2631"
_GRID = "#ebedef"
_PICTURE_HEIGHT = 960
_ROW = (5.0, 26.0)
_LABEL_HEIGHT = 13
# What is narrower on the picture is drawn this wide, and joined with what is nearer than that.
_LEAST = 0.6
_TICKS = 10


@dataclass(frozen=True)
class Record:
    """One thing that a rank did, in microseconds."""

    rank: int
    kind: str
    begin: float
    end: float


def read_records(path: Path) -> list[Record]:
    """What sobor-simulate wrote, with times from the first record on."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise SoborError(f"{path}: expected the records of a timeline: {error}") from None
    rows = content["records"]
    records = [Record(r["rank"], r["kind"], r["begin_us"], r["end_us"]) for r in rows]
    if not records:
        raise SoborError("--timeline: the simulator recorded nothing to draw")
    start = min(record.begin for record in records)
    return [Record(r.rank, r.kind, r.begin - start, r.end - start) for r in records]


def draw(records: list[Record], ranks: int, nodes: list[int], title: str) -> str:
    """The picture; `nodes` gives the NUMA node of each rank, or is empty."""
    picture = _Picture(max(record.end for record in records), ranks)
    picture.heading(title)
    picture.axis()
    picture.labels(nodes)
    for rank in range(ranks):
        picture.row(rank, [record for record in records if record.rank == rank])
    return picture.text()


class _Picture:
    """An SVG picture while it is drawn: time to the right, one row for each rank."""

    def __init__(self, end: float, ranks: int):
        self.end = max(end, 0.001)
        self.ranks = ranks
        self.row_height = min(max(_PICTURE_HEIGHT / ranks, _ROW[0]), _ROW[1])
        self.height = _TOP + ranks * self.row_height + _BOTTOM
        self.root = ElementTree.Element(
            "svg",
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {_WIDTH} {_number(self.height)}",
            width=str(_WIDTH),
            height=_number(self.height),
        )
        self.root.set("font-family", "system-ui, Helvetica, Arial, sans-serif")
        self.rectangle(0, 0, _WIDTH, self.height, "#ffffff")

    def rectangle(self, x: float, y: float, width: float, height: float, fill: str):
        return ElementTree.SubElement(
            self.root,
            "rect",
            x=_number(x),
            y=_number(y),
            width=_number(width),
            height=_number(height),
            fill=fill,
        )

    def words(self, x: float, y: float, text: str, size: int = 12, anchor: str = "start") -> None:
        element = ElementTree.SubElement(self.root, "text", x=_number(x), y=_number(y), fill=_TEXT)
        element.set("font-size", str(size))
        element.set("text-anchor", anchor)
        element.text = text

    def x(self, time: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * time / self.end

    def y(self, rank: int) -> float:
        return _TOP + rank * self.row_height

    def heading(self, title: str) -> None:
        self.words(_LEFT, 24, title, 15)
        x = _LEFT
        for name, colour in KINDS.values():
            self.rectangle(x, 36, 12, 12, colour)
            self.words(x + 17, 46.5, name)
            x += 100

    def axis(self) -> None:
        """Lines at round times, with the time in microseconds above and below."""
        bottom = self.y(self.ranks)
        step = round_step(self.end / _TICKS)
        digits = max(0, -math.floor(math.log10(step)))
        for number in range(math.floor(self.end / step) + 1):
            x = self.x(number * step)
            self.rectangle(x - 0.5, _TOP - 4, 1, bottom - _TOP + 8, _GRID)
            shown = f"{number * step:.{digits}f}"
            self.words(x, _TOP - 8, shown, 11, "middle")
            self.words(x, bottom + 18, shown, 11, "middle")
        self.words(_WIDTH - _RIGHT, bottom + 36, "time, µs", 12, "end")

    def labels(self, nodes: list[int]) -> None:
        """Ranks to the left, as many as there is room for; a strip changes with the NUMA node."""
        every = max(1, round_whole(_LABEL_HEIGHT / self.row_height))
        for rank in range(self.ranks):
            y = self.y(rank)
            if rank % every == 0:
                self.words(_LEFT - _STRIP - 8, y + self.row_height / 2 + 4, str(rank), 11, "end")
            if nodes:
                shade = _NODE_SHADES[nodes[rank] % len(_NODE_SHADES)]
                strip = self.rectangle(_LEFT - _STRIP - 2, y, _STRIP, self.row_height, shade)
                ElementTree.SubElement(strip, "title").text = f"NUMA node {nodes[rank]}"
        self.words(_LEFT - _STRIP - 8, _TOP - 8, "rank", 11, "end")

    def row(self, rank: int, records: list[Record]) -> None:
        """Waiting first, as what is short and important must not be hidden."""
        gap = 0 if self.row_height < 8 else 1
        for waiting in (True, False):
            chosen = (r for r in records if (r.kind == "wait") == waiting)
            for record in joined(chosen, self.end / _WIDTH * _LEAST):
                name, colour = KINDS.get(record.kind, (record.kind, "#000000"))
                x = self.x(record.begin)
                width = max(self.x(record.end) - x, _LEAST)
                height = self.row_height - gap
                bar = self.rectangle(x, self.y(rank), width, height, colour)
                span = f"{record.begin:.3f} to {record.end:.3f} µs"
                ElementTree.SubElement(bar, "title").text = f"rank {rank}, {name}: {span}"

    def text(self) -> str:
        ElementTree.indent(self.root)
        return ElementTree.tostring(self.root, encoding="unicode") + "\n"


def joined(records: Iterable[Record], gap: float) -> list[Record]:
    """Records of one rank in order, those of one kind joined that are nearer than `gap`."""
    result: list[Record] = []
    for record in sorted(records, key=lambda record: (record.begin, record.end)):
        last = result[-1] if result else None
        if last and last.kind == record.kind and record.begin - last.end <= gap:
            end = max(last.end, record.end)
            result[-1] = Record(last.rank, last.kind, last.begin, end)
        else:
            result.append(record)
    return result


def round_step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * 0.999999)


def round_whole(least: float) -> int:
    """The smallest of 1, 2, 4, 8, 16 ... that is at least `least`."""
    return 1 << max(0, math.ceil(math.log2(least)))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
