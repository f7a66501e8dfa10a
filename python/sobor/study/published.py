# SPDX-License-Identifier: BSD-3-Clause
"""The published values, from share/sobor/published, and how ours stand to them."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import correlation
from typing import Any

from sobor.errors import SoborError
from sobor.machines import share_folders
from sobor.study.figure import Figure, Point

#: A published value: printed, or the range that the text gives.
Value = float | list[float]


@dataclass(frozen=True)
class Row:
    """A point with the published value beside it, None where none is printed."""

    series: str
    x: str | float
    ours: float
    published: Value | None

    @property
    def middle(self) -> float | None:
        """The published value as one number."""
        known = self.published
        return sum(known) / len(known) if isinstance(known, list) else known


@cache
def read(paper: str) -> dict[str, Any]:
    """The file of a paper: its source, and values by figure, series and place on the axis."""
    for folder in share_folders("published"):
        path: Path = folder / f"{paper}.json"
        if path.is_file():
            return json.loads(path.read_text(encoding="utf-8"))
    raise SoborError(f"share/sobor/published/{paper}.json is missing", "install Sobor anew")


def beside(paper: str, figure: Figure, points: Sequence[Point]) -> list[Row]:
    """The points with what is published of them."""
    known = read(paper)["figures"].get(figure.name, {})
    return [
        Row(point.series, point.x, point.ours, known.get(point.series, {}).get(key(point.x)))
        for point in points
    ]


def key(x: str | float) -> str:
    """A place on the axis as the files of published values write it."""
    return x if isinstance(x, str) else f"{x:g}" if x != int(x) else str(int(x))


def rank_correlation(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Spearman's: 1 where both have the same order; not a number where one has no order."""
    if len(set(ours)) < 2 or len(set(theirs)) < 2:
        return math.nan
    return correlation(_places(ours), _places(theirs))


def _places(values: Sequence[float]) -> list[float]:
    """The place of each in their order; equal values share the mean of their places."""
    order = sorted(values)
    return [order.index(value) + (order.count(value) + 1) / 2 for value in values]


def summary(figure: Figure, rows: list[Row]) -> list[str]:
    """What the comparison says, in lines."""
    known = [row for row in rows if row.middle is not None]
    plain = [row for row in known if not {row.x, row.series} & set(figure.beside)] or known
    if not known:
        return ["no values are printed for it"]
    if figure.compare == "ratio":
        return [f"ours / published: {_ratios(plain)}"]
    lines = []
    for x in dict.fromkeys(row.x for row in known):
        chosen = [row for row in known if row.x == x]
        if len(chosen) < 3:
            continue
        value = rank_correlation([row.ours for row in chosen], [row.middle or 0 for row in chosen])
        lines.append(f"{x}: rank correlation {value:.2f} of {len(chosen)}")
    return [*lines, f"ours / published: {_ratios(plain)}"]


def _ratios(known: list[Row]) -> str:
    ratios = [row.ours / row.middle for row in known if row.middle]
    within = sum(2 / 3 <= ratio <= 1.5 for ratio in ratios)
    return f"{min(ratios):.2f} to {max(ratios):.2f}, {within} of {len(ratios)} within 1.5"
