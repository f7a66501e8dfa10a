# SPDX-License-Identifier: BSD-3-Clause
"""Where the `sobor` command begins.

`sobor run` stands before every start of a program, so it does not wait for what draws tables and
reads options: its few options are read here. Whatever is not plainly one of them, and every other
command, goes to the full command line, which has the help and the messages.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator

from sobor.errors import EXIT_ERROR, SoborError, write_error

_NEEDED = ("rich", "typer")
_OF_RUN = ("--set", "--heap", "--print", "--json")
#: Commands whose last words are a program's, with options of its own.
_WITH_LAUNCHER = ("run", "trace", "profile", "platform")
_INTERRUPTED = 128 + signal.SIGINT


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    _prepare_output()
    try:
        status = _status(words)
        sys.stdout.flush()
        return status
    except SoborError as error:
        write_error(error)
        return EXIT_ERROR
    except BrokenPipeError:
        _give_up_output()
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OSError as error:
        _give_up_output()
        where = error.filename or "what is written"
        write_error(SoborError(f"{where}: {error.strerror or error}"))
        return EXIT_ERROR


def _prepare_output() -> None:
    """Output that is closed is given up; what is no text in its encoding is written all the same.

    What is started finds closed what was closed, and no file of ours gets that number.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    # What stands in for it, as a string does, may have no encoding.
    if (getattr(sys.stdout, "encoding", None) or "utf-8").lower() != "utf-8":
        sys.stdout.reconfigure(errors="backslashreplace")
    elif getattr(sys.stdout, "errors", None) == "strict":
        # A file's name, for one: as it was given.
        sys.stdout.reconfigure(errors="surrogateescape")


def _status(words: list[str]) -> int:
    try:
        _start(words)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(bool(leaving.code))
    return 0


def _give_up_output() -> None:
    """Keeps Python from failing again when it writes the rest, which nobody takes."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _start(words: list[str]) -> None:
    options = _run_options(words)
    if options is not None:
        from sobor.run import run

        run(*options)
        return
    try:
        from sobor.cli import app
    except ModuleNotFoundError as error:
        if error.name not in _NEEDED:
            raise
        sys.exit(_missing(error.name))
    with _leaving_when_told():
        app(args=_with_json_file(words), prog_name="sobor", standalone_mode=True)


@contextlib.contextmanager
def _leaving_when_told() -> Iterator[None]:
    """SIGTERM and SIGHUP end a command as SIGINT does: what it has started ends with it."""

    def leave(number: int, _frame: object) -> None:
        sys.exit(128 + number)

    before = {}
    for number in (signal.SIGTERM, signal.SIGHUP):
        # nohup has one of them ignored.
        if signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _missing(name: str) -> int:
    from sobor.native import build_remedy

    remedy = build_remedy(
        "install the Python packages typer and rich for it, not with pip --user, or set "
        "SOBOR_PYTHON to a Python that has them"
    )
    write_error(SoborError(f"{sys.executable} has no {name}", remedy))
    return EXIT_ERROR


def _with_json_file(words: list[str]) -> list[str]:
    """The same words, where `--json` without a file has become `--json -`.

    The words of the program to be started are left alone: what stands behind `--`, and all of
    them where a command has a launcher, and no `--` before it.
    """
    end = words.index("--") if "--" in words else len(words)
    if end == len(words) and words[:1] and words[0] in _WITH_LAUNCHER:
        return words
    made, own = [], words[:end]
    for word, following in zip(own, [*own[1:], "--"], strict=False):
        made.append(word)
        if word == "--json" and following.startswith("-") and following != "-":
            made.append("-")
    return made + words[end:]


def _run_options(words: list[str]) -> tuple[list[str], list[str], bool, str | None] | None:
    """The command, the settings, whether to show it, the file for JSON; None: help is needed.

    The words are `run [--set NAME=VALUE]... [--heap] [--print] [--json [FILE]] [--] LAUNCHER ...`,
    or None it is.
    """
    if words[:1] != ["run"]:
        return None
    settings, show, json_file, rest = [], False, None, list(words[1:])
    while rest and rest[0].startswith("-") and rest[0] != "--":
        option, equals, value = rest.pop(0).partition("=")
        if option == "--set" and (equals or rest):
            settings.append(value if equals else rest.pop(0))
        elif option == "--json":
            json_file = value if equals else _file_of_run(rest)
        elif option == "--heap" and not equals:
            settings.append("HEAP=on")
        elif option == "--print" and not equals:
            show = True
        else:
            return None
    command = rest[1:] if rest[:1] == ["--"] else rest
    return (command, settings, show, json_file) if command else None


def _file_of_run(rest: list[str]) -> str:
    """The file that follows --json; a word that the launcher may be is none."""
    if rest[:1] == ["-"] or (rest[1:] and rest[1].partition("=")[0] in (*_OF_RUN, "--")):
        return rest.pop(0)
    return "-"
