# SPDX-License-Identifier: BSD-3-Clause
"""Draws the rows of the bench: times of the host and of Sobor over sizes, or over ranks."""

from pathlib import Path
from typing import Any

from sobor.bench.figures import way
from sobor.bench.job import Row
from sobor.drawing import new_figure, plain_microseconds, save
from sobor.sizes import counted, short_size

_WIDTH, _HEIGHT = 7.5, 4.2


def draw(rows: list[Row], path: Path) -> None:
    """Writes the picture: a part for each collective, kind of buffers and method."""
    parts: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        parts.setdefault((row["collective"], row["variant"], way(row)), []).append(row)
    figure = new_figure("--plot", (_WIDTH, _HEIGHT * len(parts)))
    all_axes = figure.subplots(len(parts), 1, squeeze=False)[:, 0]
    for axes, (words, chosen) in zip(all_axes, parts.items(), strict=True):
        sized = any(row["bytes"] for row in chosen)
        _curves(axes, chosen, "bytes" if sized else "ranks")
        buffers = f"{words[1]} buffers" if sized else ""
        method = "" if words[2] == "-" else f"method {words[2]}"
        title = ", ".join(filter(None, (words[0], buffers, method)))
        axes.set(title=title, ylabel="time, µs", yscale="log")
        axes.set(xlabel="message, bytes" if sized else "ranks")
        plain_microseconds(axes.yaxis)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    save(figure, path)


def _curves(axes: Any, rows: list[Row], axis: str) -> None:
    """The host in broken lines, Sobor in full ones of the same colour."""
    turns = {row["ranks"]: " in turns" if row["oversubscribed"] else "" for row in rows}
    several = len({row["launcher"] for row in rows}) > 1
    curves: dict[str, list[Row]] = {}
    for row in rows:
        ranks = f"{counted(row['ranks'], 'rank')}{turns[row['ranks']]}" if axis == "bytes" else ""
        words = (ranks, row.get("forced"), row["launcher"] if several else "")
        curves.setdefault(", ".join(filter(None, words)), []).append(row)
    for number, (name, chosen) in enumerate(curves.items()):
        host = chosen[0]["host"]
        for side, label, style in (("host", host, "o--"), ("sobor", "Sobor", "s-")):
            known = [(row[axis], row[f"{side}_us"]) for row in chosen if row[f"{side}_us"]]
            if known:
                text = ", ".join(filter(None, (label, name)))
                axes.plot(*zip(*sorted(known), strict=True), style, color=f"C{number}", label=text)
    places = sorted({row[axis] for row in rows})
    axes.set_xscale("log", base=2)
    axes.set_xticks(
        places, [short_size(p) if axis == "bytes" else f"{p}{turns[p]}" for p in places]
    )
