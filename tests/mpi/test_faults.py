# SPDX-License-Identifier: BSD-3-Clause
"""Ranks killed or stopped at bad moments, and shared memory that is short or forbidden."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import aftermath
import building
import jobs
import pytest
from aftermath import wait_until
from mpis import PRELOAD

from conftest import need_debian, usable_mpi

AS = Path(__file__).resolve().parent / "hosts" / "as.sh"
#: For each kind of segment; four times as many in the long form.
KILLS = {"o41": 4, "m40": 4, "m50": 3, "i21": 3}
#: Open MPI's mpiexec by itself waits for ever, in one of seven runs, when a rank is killed while it
#: makes itself known to it: within some 30 ms of its start, before any line of Sobor has run.
LAUNCHER_HANGS = {"o41", "o50"}


#: So small a ring of broadcasts is whole from the beginning. A longer one grows when messages have
#: taken long enough, and those that wait for a rank that stands still, dies or has no processor do:
#: what is held is more then than before.
WHOLE_RINGS = {"SOBOR_RING": "64KiB"}


@pytest.fixture(scope="module", autouse=True)
def tidy_shm():
    """Removes what killed MPIs have left."""
    before = {f"/dev/shm/{name}" for name in os.listdir("/dev/shm")}
    yield
    aftermath.tidy_hosts(before)


def ranks_of(job: jobs.Job, program: Path) -> list[int]:
    """Process ids of the job's ranks."""
    found = []
    for pid in job.processes():
        try:
            if Path(f"/proc/{pid}/exe").resolve() == program.resolve():
                found.append(pid)
        except OSError:
            continue
    return found


def send(pids: list[int], number: signal.Signals) -> None:
    """Signal processes, some of which may have gone already."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def ended_by(job: jobs.Job, launcher_hangs: bool) -> jobs.Result:
    """The result of a job without ranks, ended by the test where the launcher waits on."""
    result = job.wait(2 if launcher_hangs else 20)
    assert launcher_hangs or not result.timed_out, result.tail()
    return result


def kill_all_at(tester, mpi, ranks: int, delay: float, sobor: dict) -> None:
    """Start, kill every rank after the delay, and let the launcher see to the rest."""
    program = tester.program(mpi, "fault")
    job = tester.start(mpi, ranks, ["fault", "loop"], sobor=sobor)
    started = wait_until(lambda: len(ranks_of(job, program)) == ranks, 20)
    time.sleep(delay)
    send(ranks_of(job, program), signal.SIGKILL)
    gone = wait_until(lambda: not ranks_of(job, program), 20)
    result = ended_by(job, mpi.key in LAUNCHER_HANGS)
    assert started and gone, result.tail()


@pytest.mark.parametrize(("key", "kills"), KILLS.items())
@pytest.mark.parametrize("segment", ["memfd", "named"])
def test_all_killed(tester, long_run, key, kills, segment):
    """SIGKILL of all ranks at random moments: no process is left, and after a next job no file.

    Who is killed between making a name and removing it cannot remove it.
    """
    mpi = usable_mpi(key)
    sobor = {"SOBOR_SEGMENT": segment}
    generator = random.Random(f"{key}{segment}")
    delays = [generator.uniform(0.0, 0.4) for _ in range(kills * (4 if long_run else 1))]
    tester.program(mpi, "fault")
    # Side by side, since launchers mostly wait.
    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(kill_all_at, tester, mpi, 2, delay, sobor) for delay in delays]
        for kill in done:
            kill.result()
    result = tester.run(mpi, 2, ["fault", "work"], sobor={**sobor, **WHOLE_RINGS})
    tester.expect_pass(result, served=True)


def test_names_that_are_left(tester):
    """A rank that is killed while its name is there leaves it: the next job removes that.

    Of boards of which nobody became the founder the old one, not the one of now; regions of who has
    ended, not of who lives, though the job needs no names itself.
    """
    ended = subprocess.Popen(["true"])
    ended.wait()
    space = os.stat("/proc/self/ns/pid").st_ino
    left = [f"board.test-{os.getpid()}-old", f"{ended.pid}.{space}.0123456789abcdef"]
    kept = [f"board.test-{os.getpid()}-new", f"{os.getpid()}.{space}.0123456789abcdef"]
    paths = {name: Path(f"/dev/shm/sobor.{name}") for name in left + kept}
    try:
        for path in paths.values():
            path.touch(mode=0o600)
        os.utime(paths[left[0]], (0, 0))
        if not tester.bare_only:
            tester.expect_pass(
                tester.run(usable_mpi("o41"), 2, ["fault", "work"], sobor=WHOLE_RINGS)
            )
        there = {name for name, path in paths.items() if path.exists()}
        assert there == set(kept if not tester.bare_only else paths)
    finally:
        for path in paths.values():
            path.unlink(missing_ok=True)


#: Steps of set-ups, as deadly.c counts them: making the board, its memory, leaving MPI_Init; making
#: a region, its memory, removing its name. All of them, of two ranks, in a long run; a job has
#: fewer than the most.
STEPS = (1, 4, 6, 8, 10, 11, 14)
STEPS_MOST = 17

#: What is left is removed by whatever job begins next, and that may be one of another test.
JOBS_BESIDE = 4


def kill_at_step(tester, key: str, rank: int, step: int) -> bool:
    """Whether the rank was killed at this step of its set-up; others may end before it is there."""
    preload = f"{building.build_preload('deadly')}:{PRELOAD}"
    settings = {"SOBOR_SEGMENT": "named", "LD_PRELOAD": preload, **WHOLE_RINGS}
    settings |= {"DEADLY_RANK": str(rank), "DEADLY_STEP": str(step)}
    result = tester.run(usable_mpi(key), 2, ["fault", "work"], sobor=settings)
    killed = "deadly: step" in result.stderr
    assert not result.timed_out and killed == (result.returncode != 0), result.tail()
    return killed


def of_the_dead(path: str) -> bool:
    """Whether nobody who lives has made this: a region's name says who did, a board's does not."""
    owner = re.search(r"/sobor\.(\d+)\.", path)
    return "/sobor." in path and (owner is None or not os.path.exists(f"/proc/{owner[1]}"))


def left_since(before: set[str]) -> set[Path]:
    """Names that stay where nobody has them mapped: one that is being made is mapped soon."""
    left = aftermath.unmapped(aftermath.names() - before)
    time.sleep(1 if left else 0)
    return {Path(path) for path in aftermath.unmapped(left)}


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_killed_in_set_up(tester, long_run, key):
    """Who is killed between making a name and removing it leaves it, and the next job removes it.

    A board that nobody has founded is removed some seconds later.
    """
    building.build_preload("deadly")
    tester.program(usable_mpi(key), "fault")
    wanted = [(r, s) for r in (0, 1) for s in range(1, STEPS_MOST + 1)]
    if not long_run:
        wanted = [(0, s) for s in STEPS]
    before = aftermath.names()
    with ThreadPoolExecutor(4) as pool:
        jobs_killed = [pool.submit(kill_at_step, tester, key, *pair) for pair in wanted]
        killed = sum(job.result() for job in jobs_killed)
    seen: set[str] = set()
    left: set[Path] = set()
    for _ in range(JOBS_BESIDE):
        if not left:
            kill_at_step(tester, key, 0, 1)  # the first thing of all
            seen |= {x for x in aftermath.unmapped(aftermath.names() - before) if of_the_dead(x)}
            left = left_since(before)
    assert killed >= len(wanted) // 2 and (seen or left), f"{killed} were killed"
    for path in left:
        with contextlib.suppress(FileNotFoundError):
            os.utime(path, (0, 0))
    result = tester.run(usable_mpi(key), 2, ["fault", "work"], sobor=WHOLE_RINGS)
    tester.expect_pass(result, served=True)
    assert not [path for path in left if path.exists()]


def stop_launcher(job: jobs.Job, program: Path) -> list[int]:
    """Stop everything of the job but its ranks, so that nobody ends them."""
    ranks = set(ranks_of(job, program))
    others = [pid for pid in job.processes() if pid not in ranks]
    send(others, signal.SIGSTOP)
    return others


def survivors(folder: Path, expected: int, timeout: float) -> list[dict[str, float]]:
    """What the surviving ranks wrote down."""

    def complete() -> bool:
        files = list(folder.glob("survivor.*"))
        return len(files) == expected and all(f.read_text().endswith("\n") for f in files)

    wait_until(complete, timeout)
    texts = [path.read_text().split() for path in sorted(folder.glob("survivor.*"))]
    return [{k: float(v) for k, v in (word.split("=") for word in words)} for words in texts]


@pytest.mark.parametrize("case", ["inside", "absent", "root", "reader", "contributor"])
@pytest.mark.parametrize("key", ["o41", "m40", "m50", "i21"])
def test_one_killed(tester, long_run, key, case):
    """The others get an MPI error within 5 s, wherever the rank died."""
    need_debian(key, long_run)
    mpi, ranks = usable_mpi(key), 3
    program = tester.program(mpi, "fault")
    job = tester.start(mpi, ranks, ["fault", case], sobor=WHOLE_RINGS)
    try:
        announced = wait_until(lambda: job.output().count("pid ") == ranks, 30)
        assert announced, job.output()
        stopped = stop_launcher(job, program)
        (tester.folder / "go").touch()
        found = survivors(tester.folder, ranks - 1, 20)
        send(stopped, signal.SIGKILL)
    finally:
        jobs.kill_tagged(job.tag)
        result = job.wait(10)
    assert len(found) == ranks - 1, f"{found}\n{result.tail()}"
    for survivor in found:
        assert survivor["failed"] == 1 and survivor["class"] != 0, f"{found}\n{result.tail()}"
        assert survivor["after"] <= 0.5 + 5.0, found
        assert survivor["descriptors"] <= 0 and survivor["maps"] <= 0, found


@pytest.mark.parametrize(("key", "segment"), [("o41", "memfd"), ("m40", "named")])
def test_stopped_rank(tester, key, segment):
    """A rank that stands still for 3 s is not taken for dead, and the work goes on after it."""
    mpi = usable_mpi(key)
    program = tester.program(mpi, "fault")
    job = tester.start(
        mpi, 2, ["fault", "stopped", "4"], sobor={"SOBOR_SEGMENT": segment, **WHOLE_RINGS}
    )
    assert wait_until(lambda: job.output().count("pid ") == 2, 20), job.output()
    time.sleep(0.3)
    victim = ranks_of(job, program)[:1]
    send(victim, signal.SIGSTOP)
    time.sleep(3)
    send(victim, signal.SIGCONT)
    tester.expect_pass(job.wait(60), served=True)


def fallback_lines(result) -> list[str]:
    """The lines that say that the job goes without shared memory."""
    return [
        line
        for line in result.stderr.splitlines()
        if line.startswith("sobor: shared memory not available")
    ]


def in_private_mounts(words: list, size: str) -> list:
    """A command in its own mount namespace with a /dev/shm of its own size."""
    script = f'mount -t tmpfs -o size={size},mode=1777 tmpfs /dev/shm && exec "$@"'
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *words]


def can_unshare() -> bool:
    """Whether this user may make a mount namespace."""
    test = in_private_mounts(["true"], "64k")
    return subprocess.run(test, capture_output=True, check=False).returncode == 0


#: Both hosts themselves live with a /dev/shm of 64 KiB only when they do not use it. MPICH 4.0 goes
#: by other shared memory of UCX: over its tcp one of 40 jobs hangs in MPI_Finalize, bare ones too.
WITHOUT_SHM = {
    "o41": ({}, ("--mca", "btl", "self,tcp", "--mca", "pml", "ob1", "--mca", "osc", "pt2pt")),
    "o50": ({}, ("--mca", "btl", "self,tcp", "--mca", "pml", "ob1")),
    "m40": ({"UCX_TLS": "self,sysv", "MPIR_CVAR_NOLOCAL": "1"}, ()),
}


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_short_shm(tester, key):
    """/dev/shm of 64 KiB and memfd forbidden: an agreed fallback, one line, right results."""
    if not can_unshare():
        pytest.skip("a private /dev/shm needs root")
    mpi = usable_mpi(key)
    environment, options = WITHOUT_SHM[key]
    words = [str(tester.program(mpi, "fault")), "work"]
    rank_environment = {**environment, **jobs.sobor_environment({"SOBOR_SEGMENT": "named"})}
    if tester.bare_only:
        rank_environment = environment
    command = [*mpi.command(2, rank_environment, options), *words]
    job = jobs.Job(in_private_mounts(command, "64k"), jobs.base_environment(), tester.folder)
    result = job.wait(120)
    tester.expect_pass(result)
    if tester.bare_only:
        return
    assert len(fallback_lines(result)) == 1, result.tail()
    assert result.served == 0, result.tail()


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_memfd_needs_no_shm(tester, key):
    """With memfd the size of /dev/shm does not matter."""
    if not can_unshare():
        pytest.skip("a private /dev/shm needs root")
    if tester.bare_only:
        pytest.skip("only the bare MPI is asked for")
    mpi = usable_mpi(key)
    environment, options = WITHOUT_SHM[key]
    rank_environment = {**environment, **jobs.sobor_environment({})}
    words = [str(tester.program(mpi, "fault")), "work"]
    command = [*mpi.command(2, rank_environment, options), *words]
    job = jobs.Job(in_private_mounts(command, "64k"), jobs.base_environment(), tester.folder)
    tester.expect_pass(job.wait(120), served=True)


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_segment_off(tester, key):
    """No shared memory by wish: right results, nothing served."""
    result = tester.run(usable_mpi(key), 2, ["fault", "work"], sobor={"SOBOR_SEGMENT": "off"})
    tester.expect_pass(result)
    assert result.served == 0, result.tail()


def test_descriptor_limit(tester):
    """Too few file descriptors to hand memory round: the job goes on, with or without Sobor."""
    mpi = usable_mpi("o41")
    program = tester.program(mpi, "fault")
    script = 'ulimit -n 40; exec "$@"'
    result = tester.run_command(mpi, 3, ["sh", "-c", script, "sh", program, "work"], sobor={})
    tester.expect_pass(result)


def test_address_space_limit(tester):
    """Little address space: an agreed fallback or less memory, never a crash."""
    mpi = usable_mpi("o41")
    program = tester.program(mpi, "fault")
    bare = tester.run_command(
        mpi, 2, ["sh", "-c", 'ulimit -v 700000; exec "$@"', "sh", program, "work"]
    )
    if bare.returncode != 0:
        pytest.skip("the MPI itself needs more address space")
    for kib in (700000, 720000, 760000, 900000):
        script = f'ulimit -v {kib}; exec "$@"'
        result = tester.run_command(mpi, 2, ["sh", "-c", script, "sh", program, "work"], sobor={})
        tester.expect_pass(result)


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_file_size_limit(tester, key):
    """A limit on the size of files holds for shared memory too: an agreed fallback, no signal."""
    mpi = usable_mpi(key)
    environment, options = WITHOUT_SHM[key]
    if not tester.bare_only:
        environment = {**environment, **jobs.sobor_environment({})}
    limited = ["sh", "-c", 'ulimit -f 500; exec "$@"', "sh", tester.program(mpi, "fault"), "work"]
    command = [*mpi.command(2, environment, options), *map(str, limited)]
    result = jobs.Job(command, jobs.base_environment(), tester.folder).wait(120)
    tester.expect_pass(result)
    if not tester.bare_only:
        assert len(fallback_lines(result)) == 1, result.tail()
        assert "File too large" in fallback_lines(result)[0], result.tail()


@pytest.mark.parametrize("how", ["thread", "root"])
@pytest.mark.parametrize("key", ["o41", "m40"])
def test_moved(tester, key, how):
    """Ranks whose first thread has ended, or whose root has moved, live and are where they were."""
    if how == "root" and os.geteuid() != 0:
        pytest.skip("only root may change its root")
    sobor = None if tester.bare_only else {"SOBOR_LIVENESS": "100"}
    result = tester.run(usable_mpi(key), 2, ["moved", how], sobor=sobor)
    tester.expect_pass(result, served=not tester.bare_only)
    assert all(report.where == "shm" for report in result.reports), result.tail()


def memory_group() -> Path | None:
    """A new memory cgroup (version 1 or 2), or None where that is not allowed."""
    for base, limit in (
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        ("/sys/fs/cgroup", "memory.max"),
    ):
        group = Path(base) / f"sobor-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / limit).exists():
            return group
        group.rmdir()
    return None


@pytest.mark.mpis("o41")
@pytest.mark.parametrize("segment", ["auto", "named"])
def test_memory_group(tester, segment):
    """A job in a memory cgroup that is too small for the usual bound is not killed for it."""
    group = memory_group()
    if group is None:
        pytest.skip("no memory cgroup can be made here")
    try:
        limit = next(n for n in ("memory.limit_in_bytes", "memory.max") if (group / n).exists())
        (group / limit).write_text(str(160 << 20))
        mpi = usable_mpi("o41")
        program = tester.program(mpi, "fault")
        enter = f'echo $$ > {group}/cgroup.procs; exec "$@"'
        words = ["sh", "-c", enter, "sh", program, "work"]
        bare = tester.run_command(mpi, 2, words)
        tester.expect_pass(bare)
        greedy = {"SOBOR_MEMORY": "256MiB", "SOBOR_RING": "128MiB", "SOBOR_SEGMENT": segment}
        result = tester.run_command(mpi, 2, words, sobor=greedy)
        tester.expect_pass(result, served=True)
    finally:
        wait_until(lambda: not (group / "cgroup.procs").read_text(), 20)
        group.rmdir()


@pytest.fixture
def open_folder():
    """A folder that every user may enter and fill."""
    folder = Path(tempfile.mkdtemp(prefix="tmp-everyone-"))
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("key", ["o41", "m40"])
def test_user_without_rights(tester, open_folder, key):
    """As nobody, who may look into no other user's processes."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    mpi = usable_mpi(key)
    program = open_folder / "fault"
    shutil.copy(tester.program(mpi, "fault"), program)
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    readable = subprocess.run([*drop, "cat", str(PRELOAD)], capture_output=True, check=False)
    if readable.returncode != 0:
        pytest.skip(f"nobody cannot read {PRELOAD}")
    environment = {**jobs.base_environment(), "HOME": str(open_folder), "TMPDIR": str(open_folder)}
    variables = {} if tester.bare_only else jobs.sobor_environment({})
    command = [*drop, *mpi.command(2, variables), str(program), "work"]
    result = jobs.Job(command, environment, open_folder).wait(60)
    tester.expect_pass(result, served=not tester.bare_only)


def test_closed_descriptors(tester):
    """A rank that starts with its standard streams closed."""
    mpi = usable_mpi("m40")
    program = tester.program(mpi, "fault")
    script = 'exec <&- 2>&-; exec "$@"'
    result = tester.run_command(mpi, 2, ["sh", "-c", script, "sh", program, "work"], sobor={})
    tester.expect_pass(result)


@pytest.mark.parametrize("case", ["revoked-waiting", "revoked-before", "killed"])
@pytest.mark.parametrize("sobor", [None, {}], ids=["bare", "sobor"])
def test_fault_tolerance(tester, sobor, case):
    """With the host's fault tolerance calls end with its own classes of errors."""
    mpi = usable_mpi("o50")
    settings = {"options": ("--with-ft", "ulfm")}
    result = tester.run(mpi, 2, ["failing", case], sobor=sobor, **settings)
    if case != "killed":
        tester.expect_pass(result, served=sobor is not None)
    assert "PASS failing" in result.stdout and not result.timed_out, result.tail()


SPANNING = {"SOBOR_CLUSTER": "on", "SOBOR_TRIALS": "off", "SOBOR_CLUSTER_BCAST": "fixed"}


@pytest.mark.parametrize("case", ["nodes-revoked", "nodes-killed"])
@pytest.mark.parametrize("sobor", [None, SPANNING], ids=["bare", "sobor"])
def test_fault_tolerance_over_nodes(tester, sobor, case):
    """The same on three nodes: nothing is received any more when a call has failed."""
    mpi = usable_mpi("o50")
    words = [AS, "0,0,1,1,2,2", tester.program(mpi, "failing"), case]
    # Apart: of a job that ends by MPI_Abort the launcher may lose what was written before, if that
    # went by it.
    settings = {"options": ("--with-ft", "ulfm"), "timeout": 60, "apart": True}
    result = tester.run_command(mpi, 6, words, sobor=sobor, **settings)
    if case == "nodes-revoked":
        tester.expect_pass(result, served=sobor is not None)
    told = result.stdout + result.stderr
    assert "PASS failing" in told and not result.timed_out, result.tail()
