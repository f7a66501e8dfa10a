# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py's own test suite gives the same result with Sobor as without.

The suite comes from the source archive on the Python package index, in the version of the installed
mpi4py, and is kept in the build folder. By default it is run with Sobor, and on the bare MPI where
that is quick or where something failed, on some types with each MPI; SOBOR_TEST_LONG=1 runs
everything both ways, on all types, and on the wheels too.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import building
import jobs
import pytest
from mpis import WORK

from conftest import usable_mpi

WITH_TYPES = Path(__file__).parent / "python" / "some_types.py"
COLLECTIVES = ("-i", "test_cco")
#: Without those that no library serves but the host itself.
BLOCKING = (*COLLECTIVES, "-e", "test_cco_nb", "-e", "test_cco_pr", "-e", "test_cco_ngh")
#: On more ranks what those did that the run on two has, each on MPI_COMM_SELF, is left out.
TOGETHER = (*BLOCKING, "-x", "Self")
#: What each rank does for itself and takes long, a third of all the time, is done by one.
BY_ITSELF = ("TestDatatypePickle", "TestDatatypeCreate", "TestPackSelf", "TestPackExternal")
BY_ITSELF += ("TestIOBasicSelf", "TestIOViewSelf", "TestThreadPool")
THERE = ("test_datatype", "test_pack", "test_io", "test_util_pool")
ALONE = (*(w for n in THERE for w in ("-i", n)), *(w for n in BY_ITSELF for w in ("-k", n)))
REST = ("-e", "test_cco", "-e", "test_util_dtlib", *(w for n in BY_ITSELF for w in ("-x", n)))
#: By default buffers are NumPy's, which have every type that Python's own arrays have, and no types
#: are pickled, which asks the host alone what they are made of and takes half of the time of ALONE.
SHORTER = ("--no-array", "-x", "TestDatatypePickle")
#: And those of one MPI are of some types, of every kind and size; the other's are of the rest. The
#: suite fails where it has a type that is in none.
SOME_TYPES = {"o41": "?bHiQdF", "m40": "BhIlLqfgDG"}
SOME_TYPES |= {"o50": SOME_TYPES["o41"], "m50": SOME_TYPES["m40"], "i21": SOME_TYPES["m40"]}
PARTS = {COLLECTIVES: "collectives", BLOCKING: "blocking", TOGETHER: "together"}
PARTS |= {REST: "rest", ALONE: "alone"}
#: Modules on which the bare MPI itself hangs, always or at times: Open MPI 4.1's server of spawned
#: processes does not always answer their PMIx_Init when the machine is busy.
HANGS_ALONE = {
    "o41": ("-e", "test_dynproc", "-e", "test_spawn"),
    "m40": ("-e", "test_util_sync"),
    "o50": ("-e", "test_dynproc"),
    "m50": (),
    "i21": ("-e", "test_dynproc", "-e", "test_spawn"),
}


@dataclass(frozen=True)
class Run:
    """One run of the suite."""

    key: str
    ranks: int
    select: tuple
    timeout: float
    long_only: bool = False
    quick_bare: bool = False
    #: Of all types, and by Python's own arrays too, in a long form.
    whole: bool = False
    as_users: bool = False

    def __str__(self) -> str:
        name = f"{self.key}-{PARTS[self.select]}-{self.ranks}"
        return f"{name}-as-users" if self.as_users else name


RUNS = [
    Run("o41", 1, COLLECTIVES, 120, long_only=True),
    Run("o41", 2, COLLECTIVES, 120, whole=True),
    Run("o41", 2, COLLECTIVES, 120, long_only=True, whole=True, as_users=True),
    Run("o41", 3, TOGETHER, 200),
    Run("o41", 3, COLLECTIVES, 200, long_only=True),
    Run("o41", 5, TOGETHER, 400, long_only=True),
    Run("m40", 1, COLLECTIVES, 120, long_only=True),
    Run("m40", 2, BLOCKING, 120, quick_bare=True),
    # Of all of them many wait as the bare host does, which never gives a processor away.
    Run("m40", 2, COLLECTIVES, 600, long_only=True, whole=True),
    Run("o41", 2, REST, 400),
    Run("o41", 1, ALONE, 120, long_only=True, whole=True),
    Run("m40", 2, REST, 400, long_only=True),
    Run("o50", 2, COLLECTIVES, 200, long_only=True),
    Run("m50", 2, COLLECTIVES, 200, long_only=True),
    Run("i21", 2, BLOCKING, 200, long_only=True),
    Run("o50", 2, REST, 600, long_only=True),
    Run("m50", 2, REST, 600, long_only=True),
    Run("i21", 2, REST, 600, long_only=True),
    Run("m50", 1, ALONE, 200, long_only=True),
]


def installed_version(python: Path) -> str:
    """Version of mpi4py in an environment."""
    code = "import importlib.metadata as m; print(m.version('mpi4py'))"
    return subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def download(version: str, folder: Path) -> None:
    """The source archive, by pip; only mpi4py itself may be a source archive."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            "mpi4py",
            "--dest",
            str(folder),
            f"mpi4py=={version}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"mpi4py's source archive cannot be had: {done.stderr.strip()[-200:]}")


def suite_folder(python: Path) -> Path:
    """The unpacked archive, fetched once, by whichever test comes first."""
    version = installed_version(python)
    cache = WORK / "mpi4py"
    folder = cache / f"mpi4py-{version}"
    cache.mkdir(parents=True, exist_ok=True)
    with building.alone(folder):
        if not (folder / "test" / "main.py").exists():
            archive = cache / f"mpi4py-{version}.tar.gz"
            if not archive.exists():
                download(version, cache)
            shutil.unpack_archive(archive, cache)
    return folder


@dataclass(frozen=True)
class Outcome:
    """What the suite says at its end, the same on every rank."""

    ran: int
    skipped: int
    bad: tuple

    @property
    def good(self) -> bool:
        """No test failed."""
        return not self.bad


def read_outcome(result: jobs.Result) -> Outcome:
    """Number of tests, number skipped, and the names of those that failed."""
    text = result.stdout + result.stderr
    ran = [int(n) for n in re.findall(r"Ran (\d+) tests? in", text)]
    skipped = [int(n) for n in re.findall(r"(?:OK|FAILED) \(.*?skipped=(\d+)", text)]
    bad = {
        f"{kind} {name}"
        for kind, name in re.findall(r"^(ERROR|FAIL): (\S+ \S+)", text, re.MULTILINE)
    }
    assert not result.timed_out and ran, result.tail()
    # It would be so on the bare MPI as well, and nobody would miss its tests.
    assert "unittest.loader._FailedTest" not in text, f"a module is not imported\n{result.tail()}"
    return Outcome(max(ran), max(skipped, default=0), tuple(sorted(bad)))


def suite_command(mpi, select, shorter=SHORTER) -> list:
    """How the suite is run, whole where `shorter` is nothing."""
    main = suite_folder(mpi.python) / "test" / "main.py"
    elsewhere = "".join({*"".join(SOME_TYPES.values())} - {*SOME_TYPES[mpi.key]})
    by = [WITH_TYPES, main, SOME_TYPES[mpi.key], elsewhere] if shorter else [main]
    return [mpi.python, *by, "-q", *select, *shorter]


def run_suite(tester, run: Run, sobor, shorter=SHORTER) -> jobs.Result:
    """One run of the suite on one MPI."""
    mpi = usable_mpi(run.key)
    if mpi.python is None:
        pytest.skip(f"{run.key} has no Python with mpi4py (.peers)")
    select = (*run.select, *HANGS_ALONE[run.key]) if run.select == REST else run.select
    command = suite_command(mpi, select, shorter)
    # As what C programs of the tests are linked with.
    resting = str(building.build_preload("resting"))
    if sobor is not None:
        preloaded = jobs.sobor_environment(sobor)["LD_PRELOAD"]
        sobor = {**sobor, "LD_PRELOAD": f"{preloaded}:{resting}"}
    return tester.run_command(
        mpi,
        run.ranks,
        command,
        sobor=sobor,
        timeout=run.timeout,
        apart=True,
        environment={**mpi.python_environment, "LD_PRELOAD": resting},
    )


#: By run and what makes it shorter: with the heap it is asked for several times.
BARE: dict[tuple, Outcome] = {}


def bare_outcome(tester, run: Run, shorter) -> Outcome:
    """What the bare MPI says."""
    place = (run.key, run.ranks, run.select, shorter)
    if place not in BARE:
        BARE[place] = read_outcome(run_suite(tester, run, None, shorter))
    return BARE[place]


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_suite(tester, long_run, run):
    """Nothing fails that does not fail on the bare MPI, and nothing is skipped that runs there."""
    if run.long_only and not long_run:
        pytest.skip("only with SOBOR_TEST_LONG=1")
    shorter = () if long_run and run.whole else SHORTER
    if tester.bare_only:
        assert read_outcome(run_suite(tester, run, None, shorter)).good
        return
    result = run_suite(tester, run, jobs.AS_USERS if run.as_users else {}, shorter)
    outcome = read_outcome(result)
    if outcome.good:
        assert result.returncode == 0, result.tail()
    if run.ranks > 1:
        assert result.served > 0, result.tail()
    if long_run or run.quick_bare or not outcome.good:
        bare = bare_outcome(tester, run, shorter)
        assert outcome == bare, f"{outcome}\nbare: {bare}\n{result.tail()}"
