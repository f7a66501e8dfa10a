# SPDX-License-Identifier: BSD-3-Clause
"""One run of sobor-bench under a launcher."""

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sobor import variables
from sobor.bench.request import Request
from sobor.bench.target import Target
from sobor.launchers import Forward, Launch, plan_launch
from sobor.native import Native
from sobor.run import HEAP, environment
from sobor.sizes import counted

Row = dict[str, Any]

_STOP_SECONDS = 5
_SHOWN_LINES = 6
# A point takes the time of both sides, the pass that checks the data, and what a host needs whose
# ranks never yield while others wait for a core.
_SECONDS_FACTOR = 10
_POINT_SECONDS = 20
_START_SECONDS = 60
# The ranks of a job that has limits.
_LIMIT_RANKS = 2


@dataclass(frozen=True)
class Job:
    """A target, a number of ranks, and which collectives with which forced algorithms."""

    target: Target
    ranks: int
    collectives: list[str]
    forced: dict[str, str] = field(default_factory=dict)
    #: Variables of Sobor for this job.
    settings: dict[str, str] = field(default_factory=dict)
    #: The rank that broadcasts, or rotate.
    root: str = "0"

    @property
    def title(self) -> str:
        """What to call it in messages."""
        return f"{self.target.launcher.label}, {counted(self.ranks, 'rank')}"


@dataclass(frozen=True)
class Outcome:
    """What a job gave."""

    rows: list[Row]
    problem: str = ""
    notices: list[str] = field(default_factory=list)


def plan_job(job: Job, request: Request, native: Native, cores: int) -> Launch:
    """The command of a job."""
    target = job.target
    command = [
        *target.start(job.ranks, cores),
        str(native.bench),
        *("--abi", target.library.abi, "--libmpi", str(target.library.path)),
        *("--collectives", ",".join(job.collectives)),
        *("--sizes", ",".join(map(str, request.sizes))),
        *("--variants", ",".join(request.variants)),
        *("--seconds", f"{request.seconds / request.rounds:g}"),
        *("--seed", str(request.seed)),
        *("--method", ",".join(request.methods)),
        *(("--sync", request.sync) if request.sync else ()),
        *("--counts", request.counts),
        *("--buffers", request.buffers),
        *("--root", job.root),
        *(("--arrival", f"{request.arrival / 1e9:g}") if request.arrival else ()),
    ]
    if request.limits and job.ranks == _LIMIT_RANKS and target.preloads:
        command.append("--limits")
    needed = target.environment(job.ranks > cores)
    if not target.preloads:
        return Launch([*command, "--host-only"], needed)
    forced = {f"SOBOR_{name.upper()}_ALGORITHM": value for name, value in job.forced.items()}
    forced |= job.settings
    heap = str(native.heap) if variables.is_on(HEAP, forced, os.environ) else None
    forward = Forward(str(native.preload), variables.present(os.environ), forced, os.environ, heap)
    launch = plan_launch(command, forward)
    return Launch(launch.argv, {**launch.env, **needed}, launch.warnings)


def time_limit(job: Job, request: Request) -> float:
    """Seconds after which a job is taken to hang."""
    if request.timeout is not None:
        return request.timeout
    each = _SECONDS_FACTOR * request.seconds / request.rounds + _POINT_SECONDS
    return _START_SECONDS + request.points(job.collectives) * each


def run_launch(launch: Launch, limit: float, on_row: Callable[[Row], None]) -> Outcome:
    """Runs a command, hands over each row as it comes, and says how it ended."""
    rows: list[Row] = []
    with tempfile.TemporaryFile(mode="w+", errors="replace") as errors:
        process = subprocess.Popen(
            launch.argv,
            env=environment(launch),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        late = threading.Event()
        longest = min(limit, threading.TIMEOUT_MAX)
        watch = threading.Timer(longest, lambda: (late.set(), _stop(process)))
        watch.start()
        try:
            for row in _rows(process):
                rows.append(row)
                on_row(row)
            status = process.wait()
        except BaseException:
            _stop(process)
            raise
        finally:
            watch.cancel()
            process.stdout.close()
        errors.seek(0)
        said = [line.rstrip() for line in errors if line.strip()]
    return Outcome(rows, _problem(status, limit if late.is_set() else None, said), _notices(said))


def _rows(process: subprocess.Popen) -> Iterator[Row]:
    for line in process.stdout:
        if line.startswith("{"):
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue


def _stop(process: subprocess.Popen) -> None:
    """Ends a job: the launcher first, so that it can end its ranks."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(_STOP_SECONDS)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def _problem(status: int, limit: float | None, said: list[str]) -> str:
    if limit is not None:
        reason = f"no end after {limit:.0f} s, stopped"
    elif status < 0:
        reason = f"ended by signal {-status}"
    elif status > 0:
        reason = f"exit status {status}"
    else:
        return ""
    return "\n".join([reason, *(f"    {line}" for line in said[-_SHOWN_LINES:])])


def _notices(said: list[str]) -> list[str]:
    """What Sobor itself had to say; its report lines were asked for and are none of ours."""
    return list(dict.fromkeys(line for line in said if line.startswith("sobor: ")))
