# SPDX-License-Identifier: BSD-3-Clause
"""The progress bar of commands that take a while: on a terminal alone, and gone at the end."""

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sobor import console


def bar(*columns) -> Progress:
    """Shows tasks in these columns; in the library's own if none are given."""
    stream = console.err()
    return Progress(*columns, console=stream, transient=True, disable=not stream.is_terminal)


def counter(title_columns: int) -> Progress:
    """Shows a title of that width, how many of how many, and the time since the beginning."""
    title = TextColumn(f"{{task.description:<{title_columns}}}", markup=False)
    return bar(title, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
