# SPDX-License-Identifier: BSD-3-Clause
"""`sobor profile`: runs a command with every rank summing its calls, and says what came of it."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sobor import console, outputs, variables
from sobor.errors import SoborError
from sobor.launchers import Launch
from sobor.native import find_native
from sobor.profile import compare, files, views
from sobor.run import environment, prepare, shell_command
from sobor.trace.run import VARIABLE as TRACE

VARIABLE = "SOBOR_PROFILE"
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT)
#: Those that a key of a terminal sends to all processes in its foreground.
_OF_KEYS = (signal.SIGINT, signal.SIGQUIT)


@dataclass(frozen=True)
class Wanted:
    """The options of `sobor profile`."""

    command: list[str]
    settings: list[str]
    json_file: str | None = None
    compare: int | None = None
    show: bool = False


def profile(wanted: Wanted) -> int:
    """Runs the command, once or in turn with the host, and writes what it says."""
    if wanted.compare is not None and variables.SWITCH in variables.parse_settings(wanted.settings):
        raise SoborError(
            f"--compare sets {variables.SWITCH} itself, off for the host and on for Sobor",
            f"leave out --set {variables.SWITCH}",
        )
    _refuse_trace(wanted.settings)
    if wanted.show:
        launch = _launch(wanted, wanted.settings, Path("sobor-profile"))
        print(shell_command(launch))
        return 0
    outputs.check(wanted.json_file)
    if wanted.compare is None:
        status, result, _seconds = _run(wanted, wanted.settings)
    else:
        status, result = _compare(wanted, wanted.compare)
    if result is not None:
        views.show(result, wanted.json_file, console.err())
    return status


def _refuse_trace(settings: list[str]) -> None:
    """Ranks that record a trace write no sums."""
    given = {**os.environ, **variables.parse_settings(settings)}
    if given.get(TRACE):
        raise SoborError(
            f"{TRACE} is set, so ranks would record their calls and sum nothing",
            f"unset {TRACE}, or take sobor trace",
        )


def _launch(wanted: Wanted, settings: list[str], folder: Path) -> Launch:
    native = find_native()
    launch = prepare(
        wanted.command, [*settings, f"{VARIABLE}={folder}"], os.environ, native.profiling_preload
    )
    for warning in launch.warnings:
        console.print_warning(warning)
    return launch


def _run(wanted: Wanted, settings: list[str]) -> tuple[int, dict[str, Any] | None, float]:
    """One run: its exit status, its profile, its seconds. Ranks elsewhere see this folder too."""
    folder = _make_folder()
    try:
        launch = _launch(wanted, settings, folder)
        began = time.monotonic()
        status = _wait(launch.argv, environment(launch))
        seconds = time.monotonic() - began
        try:
            result, missing = files.read(folder)
        except SoborError as error:
            if status == 0:
                raise
            console.print_error(error)
            return status, None, seconds
        if missing:
            console.print_warning(
                f"{missing} of {result['ranks']} ranks left no profile: killed, or on a host that "
                f"does not share {os.getcwd()}"
            )
        return status, result, seconds
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _make_folder() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix=".sobor-profile-", dir=os.getcwd()))
    except OSError as error:
        raise SoborError(
            f"ranks write their sums into the current folder: {error.filename}: {error.strerror}",
            "start it in a folder that can be written, and that all hosts share",
        ) from None


def _wait(argv: list[str], environ: dict[str, str]) -> int:
    """Runs the launcher to its end; signals are its business."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        process = subprocess.Popen(argv, env=environ)
    except OSError as error:
        raise SoborError(f"{argv[0]}: cannot be started: {error.strerror}") from None

    def forward(number: int, _frame: object) -> None:
        if number not in _OF_KEYS or not _has_the_keys():
            process.send_signal(number)

    before = {number: signal.signal(number, forward) for number in (*_FORWARDED, *_OF_KEYS)}
    try:
        status = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def _has_the_keys() -> bool:
    """Whether keys of a terminal send signals to us, and so to the launcher by themselves."""
    try:
        with open("/dev/tty", "rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _compare(wanted: Wanted, rounds: int) -> tuple[int, dict[str, Any] | None]:
    """Host and Sobor in turn; who begins changes from round to round."""
    sides: dict[str, list[compare.Run]] = {"host": [], "sobor": []}
    for number in range(rounds):
        order = ("host", "sobor") if number % 2 == 0 else ("sobor", "host")
        for side in order:
            switch = f"{variables.SWITCH}={'off' if side == 'host' else 'on'}"
            # What the user sets counts for both; the environment may have the switch too.
            status, result, seconds = _run(wanted, [*wanted.settings, switch])
            if status != 0 or result is None:
                return status or 1, None
            sides[side].append(compare.Run(seconds, result))
            print(f"sobor: round {number + 1}, {side}: {seconds:.3f} s", file=sys.stderr)
    return 0, compare.compare(sides["host"], sides["sobor"], shlex.join(wanted.command))
