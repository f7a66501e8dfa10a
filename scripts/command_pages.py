# SPDX-License-Identifier: BSD-3-Clause
"""Pages of the commands, from the tree that sobor --help walks: manual pages, and one for docs/."""

import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from sobor.cli import app
from sobor.version import __version__

_BOLD = re.compile(r"\*\*(.+?)\*\*")


def commands() -> list[tuple[str, Any]]:
    """Each command with its whole name, sobor first."""

    def below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        yield name, command
        for word, each in getattr(command, "commands", {}).items():
            yield from below(f"{name} {word}", each)

    return list(below("sobor", get_command(app)))


def man_pages() -> dict[str, str]:
    """File name to the text of the manual page."""
    return {f"{name.replace(' ', '-')}.1": _man(name, command) for name, command in commands()}


def markdown() -> list[str]:
    """The lines of a page of all commands, without its title."""
    lines = []
    for name, command in commands():
        lines += [
            "",
            f"## {name}",
            "",
            "```",
            _synopsis(name, command),
            "```",
            "",
            *_prose(command),
        ]
        table = [(_written(each, "`"), _explained(each)) for each in _parameters(command)]
        if table:
            lines += ["", "| option | what it does |", "| --- | --- |"]
            lines += [
                f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in table
            ]
    return lines


def _summary(command: Any) -> str:
    return _BOLD.sub(r"\1", (command.help or "").split("\n\n")[0]).replace("\n", " ").strip()


def _prose(command: Any) -> list[str]:
    return (command.help or "").strip().split("\n")


def _parameters(command: Any) -> list[Any]:
    return [each for each in command.params if each.help and "completion" not in each.name]


def _synopsis(name: str, command: Any) -> str:
    words = [name]
    options = [each for each in _parameters(command) if each.param_type_name == "option"]
    words += ["[OPTION]..."] if options else []
    for each in command.params:
        if each.param_type_name == "argument":
            metavar = each.metavar if each.required else f"[{each.metavar}]"
            words.append(f"[--] {metavar}..." if each.nargs == -1 else metavar)
    return " ".join([*words, *(["COMMAND ..."] if hasattr(command, "commands") else [])])


def _written(each: Any, mark: str) -> str:
    """An option as it is typed, or the name of an argument."""
    if each.param_type_name == "argument":
        return f"{mark}{each.metavar}{mark}"
    value = "" if each.is_flag else f" {each.metavar or 'N'}"
    names = [f"{mark}{name}{value}{mark}" for name in (*each.opts, *each.secondary_opts)]
    return ", ".join(names)


def _explained(each: Any) -> str:
    plain = isinstance(each.default, (str, int, float)) and not isinstance(each.default, bool)
    return each.help + (f" Default: {each.default}." if plain else "")


def _man(name: str, command: Any) -> str:
    """A page in the language of man(7)."""
    page = name.replace(" ", "-")
    lines = [
        '.\\" Written by make docs from the tables in the code; do not edit.',
        f'.TH "{page.upper()}" "1" "" "Sobor {__version__}" "User Commands"',
        *(".SH NAME", f"{_escaped(page)} \\- {_escaped(_summary(command))}"),
        *(".SH SYNOPSIS", f".B {_escaped(_synopsis(name, command))}"),
        ".SH DESCRIPTION",
        *_man_prose(_prose(command)),
    ]
    for title, kind in (("ARGUMENTS", "argument"), ("OPTIONS", "option")):
        chosen = [each for each in _parameters(command) if each.param_type_name == kind]
        lines += [f".SH {title}"] if chosen else []
        for each in chosen:
            # In the language of --help a backslash is written as two.
            explained = _escaped(_explained(each).replace("\\\\", "\\"))
            lines += [".TP", f".B {_escaped(_written(each, ''))}", explained]
    others = getattr(command, "commands", {})
    lines += [".SH COMMANDS"] if others else []
    for word, each in others.items():
        lines += [".TP", f".BR {_escaped(f'{page}-{word}')} (1)", _escaped(_summary(each))]
    if name != "sobor":
        lines += [".SH SEE ALSO", ".BR sobor (1)"]
    return "\n".join(lines) + "\n"


def _man_prose(lines: list[str]) -> Iterator[str]:
    """Paragraphs; what is indented is shown as it is."""
    for number, paragraph in enumerate("\n".join(lines).split("\n\n")):
        if number:
            yield ".PP"
        if paragraph.startswith("    "):
            yield from (".RS 4", ".nf")
            yield from (_escaped(line[4:]) for line in paragraph.split("\n"))
            yield from (".fi", ".RE")
        else:
            yield from map(_escaped, paragraph.strip().split("\n"))


def _escaped(text: str) -> str:
    r"""Text for troff: **bold** is set so; a line that begins with . or ' is no request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("^", "\\(ha")
    text = _BOLD.sub(r"\\fB\1\\fR", text)
    return re.sub(r"^(?=[.'])", r"\\&", text)
