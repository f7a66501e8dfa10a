# SPDX-License-Identifier: BSD-3-Clause
"""What a test leaves behind: processes, names in shared memory, files.

Other tests may run at the same time. What a living process has mapped is in use, not left.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

import jobs

#: What the MPI libraries themselves leave behind when they are killed.
HOSTS_OWN = re.compile(
    r"^(ompi\.|openmpi-|prte|pmix|vader_segment|sm_segment|osc\.|psm|ucx|mpich|"
    r"Intel_MPI_|\d+\.shm|pytest-|tmp|hydra|sem\.)"
)
SECONDS = 20


def wait_until(condition, timeout: float, step: float = 0.01):
    """The first true value of the condition, or its last value."""
    end = time.monotonic() + timeout
    value = condition()
    while not value and time.monotonic() < end:
        time.sleep(step)
        value = condition()
    return value


def mapped_files() -> str:
    """The memory maps of all processes."""
    texts = []
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            texts.append(maps.read_text())
    return "\n".join(texts)


def unmapped(paths: set[str]) -> set[str]:
    """Those of the files that are there, and that no process has mapped."""
    maps = mapped_files() if paths else ""
    return {path for path in paths if path not in maps and os.path.exists(path)}


def names() -> set[str]:
    """What could be Sobor's: all that is in /dev/shm but the hosts' own, and its files in /tmp."""
    shared = {f"/dev/shm/{x}" for x in os.listdir("/dev/shm") if not HOSTS_OWN.match(x)}
    files = {f"/tmp/{x}" for x in os.listdir("/tmp") if "sobor" in x}
    return shared | {x for x in files if not os.path.isdir(x)}


class Aftermath:
    """Looks at what there is now, to compare with what there is later."""

    def __init__(self):
        jobs.started.clear()
        self.before = names()

    def left(self) -> set[str]:
        """Names that have come since and that nobody uses."""
        return unmapped(names() - self.before)

    @staticmethod
    def running() -> list[int]:
        """Live processes of the jobs that were started since."""
        return jobs.tagged_processes(*jobs.started)

    def check(self) -> None:
        """Nothing is left once all have had the time to end. What is, is ended: others wait."""
        if not wait_until(lambda: not self.running(), SECONDS):
            left = self.running()
            for tag in jobs.started:
                jobs.kill_tagged(tag)
            raise AssertionError(f"processes left: {left}")
        assert wait_until(lambda: not self.left(), SECONDS, 0.2), f"files left: {self.left()}"


def tidy_hosts(before: set[str]) -> None:
    """Remove the segments that a killed MPI itself has left, where nobody has them mapped.

    Twice looked at, a second apart: a job that runs beside may be about to map its own.
    """
    new = {f"/dev/shm/{x}" for x in os.listdir("/dev/shm") if HOSTS_OWN.match(x)} - before
    left = unmapped(new)
    if left:
        time.sleep(1)
    for path in unmapped(left):
        Path(path).unlink(missing_ok=True)
