# SPDX-License-Identifier: BSD-3-Clause
"""Running one MPI job under a time limit, and reading what Sobor reports about it."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import time
import uuid
from dataclasses import dataclass, field, replace
from pathlib import Path

from mpis import LAUNCH_ENVIRONMENT, PRELOAD, YIELDING, Mpi

TAG = "SOBOR_TEST_JOB"
TAGGED = re.compile(rb"(?:^|\0)%s=([^\0]*)" % TAG.encode())
#: Tags of the jobs of the present test.
started: list[str] = []
#: Whether ranks keep their processor while they wait for their host, as they do for users.
host_spins = False
TAIL = 4000
#: Of a process that a job was ended for, the innermost so many.
CALLS = 16
#: Every collective, as the report names it.
COLLECTIVES = (
    *("barrier", "bcast", "scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv"),
    *("alltoall", "alltoallv", "alltoallw", "reduce", "allreduce", "reduce_scatter"),
    *("reduce_scatter_block", "scan", "exscan"),
)
#: As users have it: communicators but the world are the host's until they were called often. Other
#: tests have them served at once, so that there is more to look at.
AS_USERS = {"SOBOR_SERVE_AFTER": None}
#: No test leaves anything in the user's cache.
NO_CACHE = "/dev/null/cache"
#: With the heap preloaded, and every block of a page and more in it.
HEAP = {
    "LD_PRELOAD": f"{PRELOAD.with_name('libsobor-heap.so')}:{PRELOAD}",
    "SOBOR_HEAP": "on",
    "SOBOR_HEAP_LEAST": "4KiB",
}
#: Of these ranks the odd ones have none.
HALF = (
    "sh",
    "-c",
    '[ $((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} % 2)) = 1 ] && export SOBOR_HEAP=off; exec "$0" "$@"',
)
#: Each rank writes its errors to a file of its own, by its number.
APART = ("sh", "-c", 'exec "$@" 2>>"$0.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"')
#: All jobs with Sobor: "all" or "half" have the heap, on all ranks or on every other one; "usual":
#: on all, with the blocks in it that users have there.
WITH_HEAP = os.environ.get("SOBOR_TEST_HEAP", "")
#: SIGTERM when the test process ends: a launcher never outlives it.
DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "TERM")


@dataclass
class Report:
    """One line of the report that SOBOR_VERBOSE=1 asks for."""

    values: dict[str, str]

    def __getattr__(self, name: str):
        try:
            text = self.values[name]
        except KeyError:
            raise AttributeError(name) from None
        return int(text) if re.fullmatch(r"-?\d+", text) else text

    @property
    def calls(self) -> dict[str, int]:
        """Calls that Sobor served by collective, such as {"bcast": 3}."""
        return {name: int(self.values[name]) for name in COLLECTIVES if name in self.values}

    @property
    def algorithms(self) -> dict[str, int]:
        """Calls by algorithm, such as {"barrier:flat": 12}."""
        text = self.values["algorithms"]
        pairs = [] if text == "-" else [part.rsplit("=", 1) for part in text.split(",")]
        return {name: int(count) for name, count in pairs}

    @property
    def reasons(self) -> list[str]:
        """Why calls went to the host."""
        return [] if self.values["reason"] == "-" else self.values["reason"].split(",")


SERVED = r"[a-z_]+:[^\s:=,]+=\d+"
REPORT_LINE = re.compile(
    r"^sobor: comm ("
    r"name=\S+ size=\d+ where=(?:shm|host|cluster nodes=\d+) "
    r"barrier=\d+ bcast=\d+ (?:[a-z_]+=\d+ )*"
    r"bytes=\d+ host=\d+ "
    rf"time_us=[\d.]+ algorithms=(?:-|{SERVED}(?:,{SERVED})*) reason=\S+)$",
    re.MULTILINE,
)


def is_whole(report: Report) -> bool:
    """Whether a line's algorithms account for its calls: else it is made of parts of two.

    What no algorithm is named for, such as the sum of many communicators, is taken as it is.
    """
    told: dict[str, int] = {}
    for name, count in report.algorithms.items():
        collective = name.split(":")[0]
        told[collective] = told.get(collective, 0) + count
    calls = {name: count for name, count in report.calls.items() if count > 0}
    return not told or told == calls


def parse_reports(text: str) -> list[Report]:
    """Every whole report line in the output of a job.

    A launcher may cut the lines of one rank to put those of another between, where there are many.
    """
    lines = REPORT_LINE.findall(text)
    reports = [Report(dict(word.split("=", 1) for word in line.split(" "))) for line in lines]
    return [report for report in reports if is_whole(report)]


@dataclass
class Result:
    """What became of a job."""

    command: list[str]
    returncode: int
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool
    reports: list[Report] = field(default_factory=list)
    stacks: str = ""

    def tail(self) -> str:
        """The command and the end of its output, for a failure message."""
        state = "timed out" if self.timed_out else f"exit code {self.returncode}"
        return (
            f"{' '.join(self.command)}\n{state} after {self.seconds:.1f} s\n"
            f"--- stdout\n{self.stdout[-TAIL:]}\n--- stderr\n{self.stderr[-TAIL:]}"
            + (f"\n--- where its processes were\n{self.stacks}" if self.stacks else "")
        )

    @property
    def served(self) -> int:
        """Calls that Sobor served."""
        return sum(sum(r.calls.values()) for r in self.reports if r.where != "host")

    def algorithm_calls(self) -> dict[str, int]:
        """Calls by algorithm over all communicators."""
        total: dict[str, int] = {}
        for report in self.reports:
            for name, count in report.algorithms.items():
                total[name] = total.get(name, 0) + count
        return total


def joined(results: list[Result]) -> Result:
    """The results of several jobs of one program as if of one."""
    return replace(
        results[0],
        stdout="".join(r.stdout for r in results),
        stderr="".join(r.stderr for r in results),
        seconds=sum(r.seconds for r in results),
        reports=[report for r in results for report in r.reports],
    )


def base_environment() -> dict[str, str]:
    """The environment without anything that would steer Sobor or an MPI."""
    hosts = ("OMPI_", "PRTE_", "PMIX_", "MPICH_", "HYDRA_", "MPIR_", "I_MPI_")
    steering = ("SOBOR", "LD_PRELOAD", *hosts)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(steering)}
    yielding = {} if host_spins else YIELDING
    return {**kept, **LAUNCH_ENVIRONMENT, **yielding, "XDG_CACHE_HOME": NO_CACHE}


def sobor_environment(settings: dict[str, str | None]) -> dict[str, str]:
    """The variables of a rank that runs with Sobor, by which choices are the same everywhere.

    Those that are None in the settings are left out.
    """
    variables = {
        "LD_PRELOAD": str(PRELOAD),
        "SOBOR_VERBOSE": "1",
        "SOBOR_SERVE_AFTER": "1",
        "SOBOR_PRICES": "built-in",
        **(HEAP if WITH_HEAP else {}),
        **({"SOBOR_HEAP_LEAST": "64KiB"} if WITH_HEAP == "usual" else {}),
        **settings,
    }
    return {name: value for name, value in variables.items() if value is not None}


def expect_new(result: Result) -> None:
    """Some communicators went without Sobor, as they were called too seldom."""
    assert any("new" in report.reasons for report in result.reports), result.tail()


def environment_of(pid: str) -> bytes:
    """A process's environment; nothing where there is none to see."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def tagged_processes(*tags: str) -> list[int]:
    """Live processes that were started by the jobs with these tags."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        match = TAGGED.search(environment_of(pid))
        if match and match[1].decode() in tags:
            found.append(int(pid))
    return found


def calls_of(pid: int) -> str:
    """The calls in which a process's threads are, by gdb; nothing where it is not wanted."""
    if os.environ.get("SOBOR_TEST_STACKS") == "off" or shutil.which("gdb") is None:
        return ""
    command = ["gdb", "-nx", "-batch", "-p", str(pid), "-ex", f"thread apply all bt {CALLS}"]
    try:
        found = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=10, check=False
        )
    except subprocess.TimeoutExpired:
        return ""
    lines = found.stdout.splitlines()
    return "\n".join(line for line in lines if line.startswith(("#", "Thread ")))


def where_it_is(pid: int) -> str:
    """A process's name, state, what it waits for in the kernel, its time and its calls."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        waits = Path(f"/proc/{pid}/wchan").read_text()
    except OSError:
        return f"{pid} has ended"
    name, _, rest = stat.partition("(")[2].rpartition(")")
    words = rest.split()
    ticks = f"{words[11]} + {words[12]} ticks"
    return f"{pid} {name}: {words[0]}, in {waits}, {ticks}\n{calls_of(pid)}"


def kill_tagged(tag: str) -> None:
    """End what is left of a job, by process id."""
    for pid in tagged_processes(tag):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def await_end(process: subprocess.Popen, timeout: float) -> None:
    """As its own wait, which with a limit looks only every 50 ms, unless the kernel cannot tell."""
    with contextlib.suppress(OSError):
        handle = os.pidfd_open(process.pid)
        try:
            select.select([handle], [], [], timeout)
            timeout = 0
        finally:
            os.close(handle)
    process.wait(timeout)


class Job:
    """A running job; every process of it carries a tag in its environment."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path):
        self.tag = uuid.uuid4().hex
        started.append(self.tag)
        self.command = command
        self.started = time.monotonic()
        self.stacks = ""
        self._stdout = (folder / f"{self.tag}.out").open("w+b")
        self._stderr = (folder / f"{self.tag}.err").open("w+b")
        self.process = subprocess.Popen(
            [*DIE_WITH_PARENT, *command],
            env={**environment, TAG: self.tag},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=self._stdout,
            stderr=self._stderr,
            start_new_session=True,
        )

    def output(self) -> str:
        """Standard output so far."""
        return Path(self._stdout.name).read_text(errors="replace")

    def errors(self) -> str:
        """Standard error so far."""
        return Path(self._stderr.name).read_text(errors="replace")

    def processes(self) -> list[int]:
        """Live processes of the job."""
        return tagged_processes(self.tag)

    def wait(self, timeout: float) -> Result:
        """The result, after ending the job if it takes longer than the timeout."""
        timed_out = False
        try:
            await_end(self.process, timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
            self.stacks = "\n".join(where_it_is(pid) for pid in self.processes())
        return self.finish(timed_out)

    def finish(self, timed_out: bool = False) -> Result:
        """End all that is left and collect the output."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(2)
            except subprocess.TimeoutExpired:
                self.process.kill()
        if timed_out:
            kill_tagged(self.tag)
        self.process.wait()
        return self._collect(timed_out)

    def _collect(self, timed_out: bool) -> Result:
        texts = []
        for stream in (self._stdout, self._stderr):
            stream.close()
            path = Path(stream.name)
            texts.append(path.read_text(errors="replace"))
            path.unlink()
        seconds = time.monotonic() - self.started
        return Result(
            self.command,
            self.process.returncode,
            *texts,
            seconds,
            timed_out,
            parse_reports(texts[1]),
            self.stacks,
        )


def start(
    mpi: Mpi, ranks: int, program: list, folder: Path, *, sobor=None, environment=None, options=()
) -> Job:
    """Start a program; sobor holds its SOBOR_ variables, or None for the bare MPI."""
    rank_environment = dict(environment or {})
    if sobor is not None:
        rank_environment.update(sobor_environment(sobor))
        program = [*(HALF if WITH_HEAP == "half" else ()), *program]
    command = [*mpi.command(ranks, rank_environment, options), *map(str, program)]
    return Job(command, base_environment(), folder)


def run(
    mpi: Mpi, ranks: int, program: list, folder: Path, *, timeout=60.0, apart=False, **settings
) -> Result:
    """Run a program to its end; SOBOR_TEST_SECONDS: none takes longer where nothing is wrong.

    `apart`: each rank's errors go by no launcher, which may put lines of one between parts of
    another's.
    """
    most = float(os.environ.get("SOBOR_TEST_SECONDS", timeout))
    words = [*APART, folder / "errors", *program] if apart else program
    result = start(mpi, ranks, words, folder, **settings).wait(min(timeout, most))
    return with_errors(result, folder) if apart else result


def with_errors(result: Result, folder: Path) -> Result:
    """The result, and what the ranks wrote apart, one after the other."""
    text = result.stderr
    for path in sorted(folder.glob("errors.*")):
        text += path.read_text(errors="replace")
        path.unlink()
    return replace(result, stderr=text, reports=parse_reports(text))
