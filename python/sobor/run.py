# SPDX-License-Identifier: BSD-3-Clause
"""`sobor run`: starts a command with Sobor preloaded into its ranks."""

import os
import shlex
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from sobor import elf, network, tuning, variables
from sobor.errors import SoborError, write_warning
from sobor.launchers import Forward, Launch, plan_launch
from sobor.native import find_native

HEAP = "SOBOR_HEAP"
_CTYPE = "LC_CTYPE"
#: Python ignores them, and what takes its place would go on ignoring them.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def run(command: list[str], settings: list[str], show: bool, json_file: str | None) -> None:
    """Takes the place of this process by the command, or shows it."""
    begin(prepare(command, settings, os.environ), show, json_file)


def begin(launch: Launch, show: bool, json_file: str | None = None) -> None:
    """Takes the place of this process by what was prepared, or shows it."""
    for warning in launch.warnings:
        write_warning(warning)
    if json_file is not None:
        from sobor import outputs

        shown = {"argv": launch.argv, "env": launch.env}
        outputs.check(json_file)
        outputs.show(shown, json_file, lambda: print(shell_command(launch)))
    elif show:
        print(shell_command(launch))
    else:
        _replace_process(launch)


def prepare(
    command: list[str],
    settings: list[str],
    environ: Mapping[str, str],
    preload: Path | None = None,
) -> Launch:
    """The launch of a command, with the warnings about it; `preload` if not the usual object."""
    native = find_native(environ)
    chosen = variables.parse_settings(settings)
    chosen |= tuning.find(chosen, environ)
    chosen |= network.find(chosen, environ)
    tuning.check(native, {**environ, **chosen})
    network.check(native, {**environ, **chosen})
    variables.check_settings(native, chosen, environ)
    heap = str(native.heap) if variables.is_on(HEAP, chosen, environ) else None
    ours = str(preload or native.preload)
    forward = Forward(ours, variables.present(environ), chosen, environ, heap)
    launch = plan_launch(command, forward)
    obstacles = (elf.preload_obstacle(program, ours) for program in launch.programs)
    launch.warnings.extend(filter(None, obstacles))
    return launch


def shell_command(launch: Launch) -> str:
    """The command as one would type it in a shell."""
    assignments = [f"{name}={shlex.quote(value)}" for name, value in launch.env.items()]
    return " ".join([*assignments, shlex.join(launch.argv)])


def environment(launch: Launch) -> dict[str, str]:
    """What the launcher sees: our own environment, as it was given to us, and what is added."""
    given = dict(os.environ)
    if _CTYPE in given and _CTYPE not in launch.env and _is_ours(_CTYPE):
        del given[_CTYPE]
    return {**given, **launch.env}


def _is_ours(name: str) -> bool:
    """Whether Python has set the variable itself, as it sets LC_CTYPE in the C locale."""
    try:
        first = Path("/proc/self/environ").read_bytes()
    except OSError:
        return False
    return not any(entry.startswith(f"{name}=".encode()) for entry in first.split(b"\0"))


def _replace_process(launch: Launch) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(launch.argv[0], launch.argv, environment(launch))
    except OSError as error:
        raise SoborError(f"{launch.argv[0]}: cannot be started: {error.strerror}") from None
