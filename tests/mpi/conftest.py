# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of the tests under real MPI libraries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import aftermath
import building
import jobs
import mpis

ALL = mpis.all_mpis()


def pytest_addoption(parser):
    parser.addoption("--mpi", default=None, help="only these MPIs, such as o41,m40")
    parser.addoption(
        "--bare-only",
        action="store_true",
        help="run everything on the bare MPI alone: the tests test themselves",
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "mpis(*keys): the MPIs that a test uses")
    config.addinivalue_line("markers", "alone: times what needs the machine for itself")
    config.addinivalue_line("markers", "host_spins: its hosts keep their processors as users' do")


def pytest_collection_modifyitems(config, items):
    """Leave out the tests of MPIs that were not asked for."""
    wanted = config.getoption("--mpi")
    if wanted is None:
        return
    keys = set(wanted.split(","))
    unknown = keys - set(ALL)
    if unknown:
        raise pytest.UsageError(f"--mpi: expected some of {','.join(ALL)}, found {unknown}")
    dropped = [item for item in items if not mpi_keys(item) <= keys]
    config.hook.pytest_deselected(items=dropped)
    items[:] = [item for item in items if item not in dropped]


def mpi_keys(item) -> set[str]:
    """The MPIs that a test runs on: its parameters mpi and key, or the mark that names them."""
    values = getattr(item, "callspec", None).params if hasattr(item, "callspec") else {}
    named = {values[name] for name in ("mpi", "key") if name in values}
    for mark in item.iter_markers("mpis"):
        named |= set(mark.args)
    return named


@pytest.fixture(autouse=True)
def nothing_left():
    """No test leaves a process, a name in /dev/shm or a file of Sobor's behind."""
    look = aftermath.Aftermath()
    yield
    look.check()


@pytest.fixture(autouse=True)
def how_hosts_wait(request):
    """Hosts give way to other tests, but where a test is about how they wait."""
    jobs.host_spins = request.node.get_closest_marker("host_spins") is not None


@pytest.fixture(params=list(ALL))
def mpi(request):
    """One MPI of the matrix."""
    return usable_mpi(request.param)


def usable_mpi(key: str) -> mpis.Mpi:
    """The MPI with this key; skips the test where it is not installed."""
    reason = ALL[key].missing()
    if reason is not None:
        pytest.skip(reason)
    return ALL[key]


@pytest.fixture(scope="session")
def long_run() -> bool:
    """Whether larger counts are asked for."""
    return os.environ.get("SOBOR_TEST_LONG", "") not in ("", "0")


@pytest.fixture
def only_long(long_run):
    """Leaves a test out where larger counts are not asked for."""
    if not long_run:
        pytest.skip("only with SOBOR_TEST_LONG=1")


def shows_bare(tester, key: str, long_run: bool) -> bool:
    """In the short form one host alone shows that a test is right."""
    return long_run or tester.bare_only or key == "o41"


def need_bare(tester, key: str, long_run: bool) -> None:
    """Leaves out a test of a bare host that the short form does without."""
    if not shows_bare(tester, key, long_run):
        pytest.skip("only with SOBOR_TEST_LONG=1")


def need_debian(key: str, long_run: bool, *besides: str) -> None:
    """Leaves out in the short form an MPI that pip installs: Debian's are of the same families."""
    if not long_run and key not in ("o41", "m40", *besides):
        pytest.skip("under Debian's MPIs; all with SOBOR_TEST_LONG=1")


@pytest.fixture(scope="session")
def bare_only(request) -> bool:
    """Whether the preloaded runs are left out."""
    return request.config.getoption("--bare-only")


@pytest.fixture(scope="session")
def query():
    """Ask sobor-query for a table."""

    def ask(*words: str):
        done = subprocess.run(
            [*mpis.EMULATOR, str(mpis.QUERY), *words],
            capture_output=True,
            text=True,
            check=True,
            env=jobs.base_environment(),
        )
        return json.loads(done.stdout)

    return ask


class Tester:
    """Runs programs of this folder and says what is wrong with a run."""

    def __init__(self, folder: Path, bare_only: bool):
        self.folder = folder
        self.bare_only = bare_only
        self.left_out: list[str] = []  # what the bare host fails in by itself

    def program(self, mpi, name: str) -> Path:
        """Build a program, or skip the test where the MPI cannot."""
        try:
            return building.build(mpi, name)
        except building.CannotBuild as reason:
            pytest.skip(str(reason))

    def run(self, mpi, ranks: int, words: list, *, sobor=None, **settings) -> jobs.Result:
        """Run a program by name with its arguments."""
        self._need_preload(sobor)
        program = [self.program(mpi, words[0]), *words[1:]]
        return jobs.run(mpi, ranks, program, self.folder, sobor=sobor, **settings)

    def run_all(self, mpi, wanted: list[tuple[int, list, dict]], **settings) -> list[jobs.Result]:
        """Run several jobs with Sobor: the ranks, the words and the variables of each.

        Two at a time under Open MPI, whose launcher mostly waits. MPICH's ranks never yield: more
        of them than cores would take longer together.
        """
        for _, words, _ in wanted:
            self.program(mpi, words[0])
        with ThreadPoolExecutor(2 if mpi.open_mpi else 1) as pool:
            started = [
                pool.submit(self.run, mpi, ranks, words, sobor=sobor, **settings)
                for ranks, words, sobor in wanted
            ]
            return [each.result() for each in started]

    def run_command(self, mpi, ranks: int, command: list, *, sobor=None, **settings):
        """Run any command on the ranks of a job."""
        self._need_preload(sobor)
        return jobs.run(mpi, ranks, command, self.folder, sobor=sobor, **settings)

    def start(self, mpi, ranks: int, words: list, *, sobor=None, **settings) -> jobs.Job:
        """Start a program by name and let it run."""
        self._need_preload(sobor)
        program = [self.program(mpi, words[0]), *words[1:]]
        return jobs.start(mpi, ranks, program, self.folder, sobor=sobor, **settings)

    def say_left_out(self) -> None:
        """At the end of a test that is right but for what the bare host fails in."""
        if self.left_out:
            pytest.skip("; ".join(self.left_out))

    def _need_preload(self, sobor) -> None:
        if sobor is None:
            return
        if self.bare_only:
            pytest.skip("only the bare MPI is asked for")
        assert mpis.PRELOAD.exists(), f"{mpis.PRELOAD} is not built"

    @staticmethod
    def expect_pass(result: jobs.Result, served: bool = False) -> None:
        """The program must end well; with served, Sobor must have taken calls."""
        if "SKIP " in result.stdout:
            pytest.skip(result.stdout.split("SKIP ", 1)[1].splitlines()[0])
        assert not result.timed_out, result.tail()
        assert result.returncode == 0, result.tail()
        assert "PASS " in result.stdout, result.tail()
        assert "FAIL" not in result.stdout + result.stderr, result.tail()
        if served:
            assert result.served > 0, f"Sobor served no call\n{result.tail()}"


@pytest.fixture
def tester(tmp_path, bare_only):
    """Runs programs in a folder of the test's own."""
    tester = Tester(tmp_path, bare_only)
    yield tester
    tester.say_left_out()
