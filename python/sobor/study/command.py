# SPDX-License-Identifier: BSD-3-Clause
"""Runs one figure and writes table, CSV file, picture and JSON; lists what there is."""

import csv
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from sobor import console, outputs
from sobor.bench.place import make_folder
from sobor.errors import SoborError
from sobor.native import Native
from sobor.progress import bar
from sobor.study.figure import HERE, Figure, Run
from sobor.study.papers import PAPERS
from sobor.study.place import MAPPING
from sobor.study.published import Row, Value, beside, read, summary


@dataclass(frozen=True)
class Wanted:
    """The options of `sobor study`."""

    paper: str | None
    figure: str | None
    changes: tuple[str, ...]
    short: bool
    listing: bool
    out: str
    json_file: str | None


def study(wanted: Wanted, native: Native) -> int:
    """Runs what was asked for."""
    if wanted.listing:
        _list(wanted)
        return 0
    if wanted.paper is None or wanted.figure is None:
        raise SoborError("expected a paper and a figure of it", "sobor study --list names them")
    figure = find(wanted.paper, wanted.figure)
    values = settings(figure, wanted.changes, wanted.short)
    _check_map(values)
    folder = make_folder(wanted, "sobor study")
    with bar() as progress:
        task = progress.add_task(figure.title, total=None)
        run = Run(native, values, lambda what: progress.update(task, description=what))
        rows = beside(wanted.paper, figure, figure.run(run))
    _write(rows, wanted, figure, folder, _where(values))
    return 0


def _check_map(values: dict[str, Any]) -> None:
    """Refuses what would be measured alike and called differently."""
    maps = values.get("map", MAPPING)
    if values.get("machine") == HERE and maps not in (MAPPING, [MAPPING]):
        found = maps if isinstance(maps, str) else ",".join(maps)
        raise SoborError(
            f"map: with machine=here ranks are where mpirun puts them, found {found}",
            f"--with map={MAPPING}",
        )


def _where(values: dict[str, Any]) -> str:
    """Where times come from, for titles; formulas come from nowhere."""
    machine = values.get("machine")
    if machine is None:
        return ""
    return ", measured here" if machine == HERE else f", simulated {machine}"


def find(paper: str, name: str) -> Figure:
    """The figure of that name."""
    if paper not in PAPERS:
        raise SoborError(f"expected a paper, one of {', '.join(PAPERS)}, found {paper}")
    known = {figure.name: figure for figure in PAPERS[paper]}
    if name not in known:
        raise SoborError(f"{paper}: expected one of {', '.join(known)}, found {name}")
    return known[name]


def settings(figure: Figure, changes: tuple[str, ...], short: bool) -> dict[str, Any]:
    """The values of all settings: as published, in the short form, as the user says."""
    texts = {each.name: each.default for each in figure.settings}
    texts |= figure.short if short else {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or name not in texts:
            raise SoborError(f"--with: expected {', '.join(texts)} and =VALUE, found {change}")
        texts[name] = value
    return {each.name: each.parse(texts[each.name], each.name) for each in figure.settings}


def _list(wanted: Wanted) -> None:
    """All figures; of one paper or figure with its settings."""
    if wanted.paper is not None and wanted.paper not in PAPERS:
        raise SoborError(f"expected a paper, one of {', '.join(PAPERS)}, found {wanted.paper}")
    papers = [wanted.paper] if wanted.paper else list(PAPERS)
    figures = [(paper, each) for paper in papers for each in PAPERS[paper]]
    if wanted.figure is not None and wanted.paper is not None:
        figures = [(wanted.paper, find(wanted.paper, wanted.figure))]
    outputs.check(wanted.json_file)
    outputs.show(
        [_entry(paper, figure) for paper, figure in figures],
        wanted.json_file,
        lambda: _write_list(papers, figures, bool(wanted.paper), console.out()),
    )


def _write_list(
    papers: list[str], figures: list[tuple[str, Figure]], with_settings: bool, out: Console
) -> None:
    for paper in papers:
        console.heading(out, f"{paper}: {read(paper)['source']}")
        grid = console.table(out, "figure", "what it shows")
        for _, figure in (pair for pair in figures if pair[0] == paper):
            grid.add_row(figure.name, figure.title)
            for each in figure.settings if with_settings else ():
                grid.add_row("", f"  {each.name}={each.default}  {each.doc}")
        out.print(console.indented(grid))


def _entry(paper: str, figure: Figure) -> dict[str, Any]:
    named = [{"name": s.name, "default": s.default, "doc": s.doc} for s in figure.settings]
    return {"paper": paper, "figure": figure.name, "title": figure.title, "settings": named}


def _write(rows: list[Row], wanted: Wanted, figure: Figure, folder: Path, where: str) -> None:
    paper = wanted.paper or ""
    found = [{"paper": paper, "figure": figure.name, **asdict(row)} for row in rows]
    files = [
        folder / f"{paper}-{figure.name.replace(' ', '-')}{suffix}" for suffix in (".csv", ".svg")
    ]
    with files[0].open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, "published": _words(row["published"])} for row in found)
    from sobor.study.picture import draw  # noqa: PLC0415 - loading Matplotlib takes a second

    title = f"{paper} {figure.name}: {figure.title}{where}"
    outputs.show(
        found,
        wanted.json_file,
        lambda: _table(rows, figure, f"{title}; {figure.unit}", console.out()),
        *files,
        make_others=lambda: draw(rows, figure, title, files[1]),
    )


def _words(value: Value | None) -> str:
    """A published value, a range, or nothing."""
    if value is None:
        return ""
    return " to ".join(f"{each:g}" for each in value) if isinstance(value, list) else f"{value:g}"


def _table(rows: list[Row], figure: Figure, title: str, out: Console) -> None:
    """A row for each series; for each place on the axis ours and, where printed, theirs."""
    places = list(dict.fromkeys(row.x for row in rows))
    series = list(dict.fromkeys(row.series for row in rows))
    console.heading(out, title)
    # Few series and many places read better the other way round.
    turned = len(places) > len(series)
    lines, heads = (places, series) if turned else (series, places)
    grid = console.table(out, figure.axis if turned else "", *map(str, heads), right=())
    cells = {(row.series, row.x): _cell(row, figure) for row in rows}
    for line in lines:
        named = [(head, line) if turned else (line, head) for head in heads]
        grid.add_row(str(line), *(cells.get(each, "") for each in named))
    out.print(console.indented(grid))
    out.print("  ours (published)")
    for line in summary(figure, rows):
        out.print(f"  {line}")


def _cell(row: Row, figure: Figure) -> Text:
    ours = f"{row.ours:.3g}" if abs(row.ours) < 1000 else f"{row.ours:.0f}"
    text = ours if row.published is None else f"{ours} ({_words(row.published)})"
    return Text(text, style=figure.paint(row.ours) if figure.paint else "")
