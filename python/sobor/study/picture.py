# SPDX-License-Identifier: BSD-3-Clause
"""Draws a figure: ours in full lines or bars, the published values beside them."""

from pathlib import Path

from sobor.drawing import new_figure, save
from sobor.study.figure import Figure
from sobor.study.published import Row

_SIZE = (8.5, 5)


def draw(rows: list[Row], figure: Figure, title: str, path: Path) -> None:
    """Writes the picture."""
    sheet = new_figure("sobor study", _SIZE)
    axes = sheet.subplots()
    drawn = [row for row in rows if row.series not in figure.beside and row.x not in figure.beside]
    places = dict.fromkeys(row.x for row in drawn)
    if figure.stacked:
        _stack(axes, drawn)
    elif any(isinstance(x, str) for x in places) or len(places) == 1:
        _bars(axes, drawn)
    else:
        _lines(axes, drawn, figure)
    axes.set(title=title, xlabel=figure.axis, ylabel=figure.unit)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    save(sheet, path)


def _lines(axes, rows: list[Row], figure: Figure) -> None:
    """A line for each series; what is printed of it as crosses of its colour."""
    for series in dict.fromkeys(row.series for row in rows):
        chosen = [row for row in rows if row.series == series]
        known = [(row.x, row.middle) for row in chosen if row.middle is not None]
        (line,) = axes.plot(
            [row.x for row in chosen], [row.ours for row in chosen], marker="o", markersize=3,
            linewidth=1.2, label=series,
        )  # fmt: skip
        if known:
            axes.plot(*zip(*known, strict=True), "x", color=line.get_color())
    for scale, base in zip((axes.set_xscale, axes.set_yscale), figure.log, strict=True):
        if base:
            scale("log", base=base)


def _stack(axes, rows: list[Row]) -> None:
    """A bar for each place, of all its series."""
    places = list(dict.fromkeys(row.x for row in rows))
    below = dict.fromkeys(places, 0.0)
    for series in dict.fromkeys(row.series for row in rows):
        parts = {row.x: row.ours for row in rows if row.series == series}
        heights = [parts.get(x, 0.0) for x in places]
        axes.bar(list(map(str, places)), heights, 0.6, list(below.values()), label=series)
        below = {x: below[x] + height for x, height in zip(places, heights, strict=True)}


def _bars(axes, rows: list[Row]) -> None:
    """Bars side by side, ours and published, for each series and place."""
    names = [f"{row.series}, {row.x}" for row in rows]
    if len({row.x for row in rows}) == 1:
        names = [row.series for row in rows]
    axes.barh([i + 0.2 for i in range(len(rows))], [row.ours for row in rows], 0.4, label="ours")
    known = [(i - 0.2, row.middle) for i, row in enumerate(rows) if row.middle is not None]
    if known:
        axes.barh(*zip(*known, strict=True), 0.4, label="published")
    axes.set_yticks(range(len(rows)), names, fontsize=6)
    axes.invert_yaxis()
