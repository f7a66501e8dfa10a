# SPDX-License-Identifier: BSD-3-Clause
"""Asks the core's cost model what the options of `sobor model bcast` want to know."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sobor import console, outputs
from sobor.errors import SoborError
from sobor.model import views
from sobor.native import Native, find_native

WAYS = ("budget", "message", "fragment", "slots")


@dataclass(frozen=True)
class Wanted:
    """The options of `sobor model bcast`."""

    #: Options that go to the core as they are written, by name.
    values: Mapping[str, str | None] = field(default_factory=dict)
    choose: str | None = None
    table: bool = False
    measure: bool = False
    plot: str | None = None

    def arguments(self) -> list[str]:
        """The words for the core's tool."""
        words = ["bcast"]
        for option, value in (*self.values.items(), ("--choose", self.choose)):
            if value is not None:
                words += [option, value]
        switches = {"--table": self.table, "--measure": self.measure, "--curves": bool(self.plot)}
        return words + [option for option, given in switches.items() if given]


def model(wanted: Wanted, json_file: str | None) -> None:
    """Writes the answers."""
    _check(wanted, json_file)
    answers = ask(find_native(), wanted)
    curves = answers.pop("curves", None)
    if wanted.plot:
        from sobor.model.plot import draw  # noqa: PLC0415 - loading Matplotlib takes a second

        draw(answers, curves, Path(wanted.plot))
    write = partial(views.write, answers, wanted, console.out())
    outputs.show(answers, json_file, write, wanted.plot)


def ask(native: Native, wanted: Wanted) -> dict[str, Any]:
    """The answers, with what was asked for beside the times."""
    answers = native.model(*wanted.arguments())
    if answers.get("choice"):
        answers["choice"] = {"by": wanted.choose, **answers["choice"]}
    return answers


def _check(wanted: Wanted, json_file: str | None) -> None:
    outputs.check(json_file, wanted.plot)
    if wanted.choose and wanted.choose not in WAYS:
        raise SoborError(f"--choose: expected {', '.join(WAYS)}, found {wanted.choose}")
    if wanted.plot and wanted.values.get("--bytes") is None and wanted.choose != "budget":
        raise SoborError("--plot needs the size of the message", "add, for example, --bytes 16MiB")
