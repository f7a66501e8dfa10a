# SPDX-License-Identifier: BSD-3-Clause
"""The options that several commands have: one name, one meaning, one form.

A command takes one with `option("--json")`, and adds what is special to it as a note. Where the
value is several of a kind, `many=True` says so alike everywhere.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sobor import completion


class Group(TyperGroup):
    """A group of commands whose errors say what value was found.

    Typer has values checked by another library, in some versions, which says what it expected.
    """

    def invoke(self, ctx: Any) -> Any:
        """Runs the command that is asked for."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            details = getattr(error.__cause__, "errors", list)()
            if details and "found" not in error.message:
                error.message += f", found {details[0].get('input')}"
            raise


@dataclass(frozen=True)
class Word:
    """An option of the vocabulary."""

    help: str
    #: What stands for its value; None: it has none.
    metavar: str | None = None
    #: Names what the beginning of a value may become.
    complete: Callable[[str], list[str]] | None = None


WORDS = {
    "--bytes": Word("Size of the message, such as 4096 or 64K.", "SIZE"),
    "--collective": Word("One operation, such as bcast.", "NAME", completion.collectives),
    "--counts": Word(
        "How the sizes of parts differ, where they may: equal, linear, heavy (one rank has nearly "
        "all), random, half-zero or half (every other rank has none).",
        "PATTERN",
    ),
    "--json": Word("Write JSON to FILE; alone or with -, to the output.", "FILE"),
    "--launcher": Word("The launcher, with options of its own if need be.", "CMD"),
    "--libmpi": Word("The launcher's MPI library, where it is not found or not wanted.", "FILE"),
    "--list": Word("List what there is, and leave."),
    "--machine": Word(
        "A machine: a name of sobor simulate --list, or a machine file.",
        "NAME|FILE",
        completion.machines,
    ),
    "--map": Word("How ranks are dealt.", "HOW"),
    "--nodes": Word("How many nodes the ranks are on, all together.", "N"),
    "--out": Word("Where the CSV file and the picture are written.", "DIR"),
    "--plot": Word("Draw a picture.", "FILE.svg"),
    "--print": Word("Show the command that would be run, and leave."),
    "--ranks": Word("How many ranks.", "N"),
    "--seconds": Word("How long to measure.", "S"),
    "--seed": Word("Seed of what is random.", "N"),
    "--set": Word(
        "Set a variable of Sobor for this run; SOBOR_ may be left out. Repeatable.",
        "NAME=VALUE",
        completion.settings,
    ),
    "--short": Word("In short, for a first look."),
    "--timeout": Word("Seconds after which a job is taken to hang.", "S"),
    "--transfer": Word("t(m): one transfer of the message, such as 4us.", "TIME"),
}


def finite(value: float | None) -> float | None:
    """Refuses what has limits and keeps to none: of nan nothing is less or more."""
    if isinstance(value, float) and not math.isfinite(value):
        raise typer.BadParameter(f"expected a number, found {value}")
    return value


def option(name: str, note: str = "", *, many: bool = False, **limits: Any) -> Any:
    """The option of that name, for Annotated; `note` goes on where the common words end."""
    word = WORDS[name]
    if limits:
        limits["callback"] = finite
    help_text = word.help
    if many:
        help_text = f"{help_text.removesuffix('.')}; several with commas between."
    return typer.Option(
        name,
        metavar="LIST" if many else word.metavar,
        help=" ".join(filter(None, (help_text, note))),
        autocompletion=word.complete,
        **limits,
    )


JsonFile = Annotated[str | None, option("--json")]
Settings = Annotated[list[str] | None, option("--set")]
Show = Annotated[bool, option("--print")]
Launch = Annotated[
    list[str],
    typer.Argument(metavar="LAUNCHER", help="The command as you would run it without Sobor."),
]
