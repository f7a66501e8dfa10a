# SPDX-License-Identifier: BSD-3-Clause
"""Output: rich on a terminal, plain text in a pipe, JSON on request."""

import sys
from typing import Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sobor.errors import SoborError

# A pipe has no width: no row of ours is cut or wrapped.
_PIPE_WIDTH = 100_000
# Rows of a table of names and numbers; JSON has all.
_ROWS_MOST = 16


def _console(stream) -> Console:
    return Console(
        file=stream,
        width=None if stream.isatty() else _PIPE_WIDTH,
        # What is written has users' words in it: nothing in brackets or between colons is ours.
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=not stream.isatty(),
    )


def out() -> Console:
    """The console on standard output."""
    return _console(sys.stdout)


def err() -> Console:
    """The console on standard error."""
    return _console(sys.stderr)


def print_error(error: SoborError) -> None:
    """Writes an error and its remedy to standard error."""
    console = err()
    console.print(Text.assemble(("sobor: ", "bold red"), error.message))
    if error.remedy:
        console.print(Text.assemble(("  remedy: ", "bold"), error.remedy))


def print_warning(message: str) -> None:
    """Writes a warning to standard error."""
    err().print(Text.assemble(("sobor: ", "bold yellow"), message))


def heading(console: Console, title: str) -> None:
    """Writes the title of a part of the output, after an empty line."""
    console.print()
    console.print(Text(title, style="bold"))


def table(
    console: Console, *columns: str, right: tuple[str, ...] = (), wrap: tuple[str, ...] = ()
) -> Table:
    """An empty table with our looks.

    `right` names the columns of numbers, `wrap` those of text that may take several lines.
    """
    grid = Table(
        box=box.SIMPLE_HEAD if console.is_terminal else None,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0) if console.is_terminal else (0, 2, 0, 0),
        header_style="bold",
    )
    for column in columns:
        grid.add_column(
            column,
            justify="right" if column in right else "left",
            no_wrap=column not in wrap or not console.is_terminal,
        )
    return grid


def tables(console: Console, shown: list[tuple], more: str) -> None:
    """Writes tables of names and numbers, each a title, columns and rows, cut where they are long.

    `more` says where the rest is. One without rows is left out.
    """
    for title, columns, rows in shown:
        if not rows:
            continue
        heading(console, title)
        made = table(console, *columns, right=tuple(columns[1:]))
        for row in rows[:_ROWS_MOST]:
            made.add_row(*map(Text, row))
        console.print(indented(made))
        if len(rows) > _ROWS_MOST:
            console.print(f"  and {len(rows) - _ROWS_MOST} more: {more}")


def line(console: Console, name: str, value: str, width: int) -> None:
    """Writes a name, in a column of that width, and what there is to say of it."""
    console.print(Text.assemble("  ", (f"{name:<{width}} ", "cyan"), value))


def best(text: str, is_best: bool) -> Text:
    """A cell of a table in which the best ones stand out."""
    return Text(text, style="bold green" if is_best else "")


def grid(first_width: int) -> Table:
    """Two columns without lines, the first of that width: for text that hangs beside a label."""
    columns = Table.grid(padding=0)
    columns.add_column(width=first_width, no_wrap=True)
    columns.add_column(overflow="fold")
    return columns


def indented(renderable: Any, columns: int = 2) -> Padding:
    """The renderable moved to the right."""
    return Padding(renderable, (0, 0, 0, columns), expand=False)
