# SPDX-License-Identifier: BSD-3-Clause
"""Runs MPICH's own test suite on the bare MPI and with Sobor, and compares each test.

    .venv/bin/python scripts/run_suite.py SOURCE --mpi o41 coll comm errors/coll
    .venv/bin/python scripts/run_suite.py SOURCE --mpi m40 coll --most 4 --set CMA=off
    .venv/bin/python scripts/run_suite.py SOURCE --mpi o41 coll --each-algorithm

SOURCE is the unpacked source of MPICH, whose folder test/mpi holds the suite; its tests are
programs that say "No Errors" and run on any MPI. They are configured and built outside of it, once
for each MPI, below the build folder. A folder of the suite stands for those below it too. No
folders: all that the suite was configured for.

A test that does with Sobor what it does on the bare MPI is not shown. One that differs is run twice
more both ways, so that what fails now and then is not taken for a difference. The exit status is 1
if a test fails with Sobor that passes without.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "mpi"))

import building  # noqa: E402
import jobs  # noqa: E402
from mpis import LAUNCH_ENVIRONMENT, QUERY, WORK, Mpi, all_mpis  # noqa: E402

#: Processes that a test may have, and its time, if the list of tests does not say.
RANKS, SECONDS = 2, 120
REPEATS = 2
#: Old interfaces give one procedure arguments of many types; that is how the suite means it.
FORTRAN = "-fallow-argument-mismatch"
#: Open MPI still has the functions of MPI 1 that dtpools asks for, but refuses their names.
OPEN_MPI_REMOVED = """#define OMPI_OMIT_MPI1_COMPAT_DECLS 0
#define OMPI_REMOVED_USE_STATIC_ASSERT 0
#define __mpi_interface_removed__(func, newfunc)
"""
#: What each test needs of the folder util, and of dtpools.
HELPERS = ("util", "dtpools")
#: Intel's compilers find what they need by a variable alone.
TOOLS_ENVIRONMENT = {**os.environ, **LAUNCH_ENVIRONMENT}
#: The suite's configure makes the helpers of Fortran 2008 only where MPICH itself calls it.
HELPERS_2008 = ("libmtest_f08.la", "am_libmtest_f08_la_OBJECTS=mtest_f08.lo")
QUIET = re.compile(r"\s*(No Errors|Test Passed)?\s*", re.IGNORECASE)
REPORT = re.compile(r"^sobor: (?:comm name|heap rank)=.*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """One line of a list of tests."""

    folder: str
    program: str
    ranks: int
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    #: How the end is judged; empty: the exit status is 0 and the output is "No Errors".
    judge: str = ""
    seconds: float = SECONDS

    def __str__(self) -> str:
        settings = [f"{name}={value}" for name, value in self.environment]
        words = [f"{self.folder}/{self.program}", str(self.ranks), *self.arguments, *settings]
        return " ".join(words)


@dataclass(frozen=True)
class Outcome:
    """What became of a test."""

    word: str  # pass, fail, timeout
    text: str = ""
    served: int = 0

    def same(self, other: "Outcome") -> bool:
        """Whether both are one answer to the question if the test passes."""
        return self.word == other.word


@dataclass
class Tally:
    """What is said at the end."""

    ran: int = 0
    passed: int = 0
    served: int = 0
    alike: list[str] = field(default_factory=list)
    worse: list[str] = field(default_factory=list)
    better: list[str] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)


def read_line(folder: str, line: str, most: int, strict: bool) -> Case | None:
    """The case of a line; None if it holds none, or one that is not for this MPI."""
    words = line.split("#", 1)[0].split()
    if not words or words[0].startswith("!"):
        return None
    program = Path(folder) / words[0]
    pairs = [word.split("=", 1) for word in words[2:] if "=" in word]
    options = dict(pairs)
    extension = options.get("strict", "").lower() == "false"
    if extension if strict else "xfail" in options:
        return None
    ranks = int(words[1]) if len(words) > 1 else RANKS
    return Case(
        folder=str(program.parent),
        program=program.name,
        ranks=min(ranks, most) if most else ranks,
        arguments=tuple(value for name, value in pairs if name == "arg"),
        environment=tuple(tuple(v.split("=", 1)) for name, v in pairs if name == "env"),
        judge=options.get("resultTest", ""),
        seconds=float(options.get("timeLimit", SECONDS)),
    )


def read_cases(build: Path, source: Path, folder: str, most: int, strict: bool) -> Iterator[Case]:
    """The tests of a folder and of those below it, each once."""
    lists = [base / folder / "testlist" for base in (build, source)]
    found = next((path for path in lists if path.exists()), None)
    if found is None:
        sys.exit(f"{folder}: expected a list of tests, found none below {build}")
    for line in found.read_text().splitlines():
        word = (line.split("#", 1)[0].split() or [""])[0]
        below = os.path.normpath(Path(folder) / word)
        if word and (build / below).is_dir():
            yield from read_cases(build, source, below, most, strict)
            continue
        case = read_line(folder, line, most, strict)
        if case is not None:
            yield case


def libraries(mpi: Mpi, build: Path) -> str:
    """What every program is linked with, so that ranks give way to other jobs while they wait.

    The suite's own libraries are made without: libtool takes no such objects into them.
    """
    besides = building.functions_besides(mpi)
    objects = building.make_objects(
        build / "helpers",
        [building.PROGRAMS / name for name in besides],
        [mpi.compilers["c"], "-std=gnu17", "-O2", "-fPIC"],
    )
    names = (name for functions in besides.values() for name in functions)
    return " ".join([*objects, *(f"-Wl,--export-dynamic-symbol={name}" for name in names)])


def configure(mpi: Mpi, source: Path, build: Path) -> None:
    """Configures the suite for an MPI, once."""
    if (build / "config.status").exists():
        return
    build.mkdir(parents=True, exist_ok=True)
    c, cpp = mpi.compilers["c"], mpi.compilers["c++"]
    fortran = mpi.compilers.get("fortran")
    words = [f"CC={c}", f"MPICC={c}", f"CXX={cpp}", f"MPICXX={cpp}", "--enable-threads=multiple"]
    if fortran is None:
        words.append("--disable-fortran")
    else:
        words += [f"{name}={fortran}" for name in ("F77", "MPIF77", "FC", "MPIFC")]
        words += [f"FFLAGS={FORTRAN}", f"FCFLAGS={FORTRAN}"]
    if mpi.open_mpi:
        removed = build / "removed.h"
        removed.write_text(OPEN_MPI_REMOVED)
        # Its C++ interface is not complete.
        words += ["--enable-strictmpi", "--disable-cxx", f"CFLAGS=-g -O1 -include {removed}"]
    run_tool([str(source / "configure"), *words], build, build / "configure.out")


def run_tool(command: list[str], folder: Path, log: Path) -> None:
    """Runs a command that must succeed, its output in a file."""
    with log.open("w") as out:
        done = subprocess.run(
            command, cwd=folder, env=TOOLS_ENVIRONMENT, stdout=out, stderr=out, check=False
        )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}; see {log}")


def build_folder(mpi: Mpi, build: Path, folder: str, programs: set[str]) -> set[str]:
    """Builds the programs of a folder; returns those that cannot be had."""
    log = build / f"build-{folder.replace('/', '-')}.out"
    wanted = sorted(p for p in programs if not (build / folder / p).exists())
    if wanted:
        command = ["make", "-k", f"-j{os.cpu_count()}", f"LIBS={libraries(mpi, build)}", *wanted]
        with log.open("w") as out:
            subprocess.run(
                command,
                cwd=build / folder,
                env=TOOLS_ENVIRONMENT,
                stdout=out,
                stderr=out,
                check=False,
            )
    return {p for p in programs if not (build / folder / p).exists()}


def build_all(mpi: Mpi, build: Path, cases: list[Case]) -> list[Case]:
    """Builds what the tests need; returns those that can be run."""
    for folder in HELPERS:
        if (build / folder / "Makefile").exists():
            run_tool(["make", "-j2"], build / folder, build / f"build-{folder}.out")
    if "fortran" in mpi.compilers:
        run_tool(["make", *HELPERS_2008], build / "util", build / "build-util-2008.out")
    missing = set()
    for folder in sorted({case.folder for case in cases}):
        programs = {case.program for case in cases if case.folder == folder}
        gone = build_folder(mpi, build, folder, programs)
        missing |= {(folder, program) for program in gone}
        if gone:
            print(f"not built in {folder}: {' '.join(sorted(gone))}", flush=True)
    return [case for case in cases if (case.folder, case.program) not in missing]


def judge(case: Case, result: jobs.Result) -> Outcome:
    """What the suite's own script would say of a run."""
    text = REPORT.sub("", result.stdout + result.stderr)
    served = result.served
    if result.timed_out:
        return Outcome("timeout", text, served)
    if case.judge == "TestErrFatal":
        good = result.returncode != 0
    elif case.judge == "TestStatus":
        good = result.returncode != 0 and "No Errors" not in text
    elif case.judge == "TestStatusNoErrors":
        good = result.returncode != 0 and "No Errors" in text
    else:
        lines = text.splitlines()
        good = result.returncode == 0 and all(QUIET.fullmatch(line) for line in lines)
        good = good and "no errors" in text.lower()
    return Outcome("pass" if good else "fail", text, served)


def run_case(mpi: Mpi, build: Path, case: Case, sobor: dict | None) -> Outcome:
    """Runs one test; `sobor`: its variables, or None for the bare MPI."""
    result = jobs.run(
        mpi,
        case.ranks,
        [build / case.folder / case.program, *case.arguments],
        build / case.folder,
        sobor=sobor,
        environment=dict(case.environment),
        timeout=case.seconds,
    )
    return judge(case, result)


def first_lines(outcome: Outcome) -> str:
    """The first lines of a test's output, set in."""
    lines = [line for line in outcome.text.splitlines() if line.strip()]
    return "".join(f"      {line[:160]}\n" for line in lines[:6])


def compare(mpi: Mpi, build: Path, case: Case, sobor: dict, bare: dict, tally: Tally) -> None:
    """Runs one test both ways, the bare one once for all rounds, and counts what came of it."""
    if case not in bare:
        bare[case] = run_case(mpi, build, case, None)
    first, ours, before = bare[case], run_case(mpi, build, case, sobor), []
    while not ours.same(first) and len(before) < REPEATS:
        before.append(f"{first.word} bare, {ours.word} with Sobor")
        first, ours = run_case(mpi, build, case, None), run_case(mpi, build, case, sobor)
    tally.ran += 1
    tally.passed += ours.word == "pass"
    tally.served += ours.served
    if not ours.same(first):
        worse = first.word == "pass" or ours.word == "timeout"
        (tally.worse if worse else tally.better).append(str(case))
        print(
            f"  {case}: {first.word} bare, {ours.word} with Sobor\n{first_lines(ours)}", flush=True
        )
    elif before:
        tally.unsteady.append(f"{case}: {'; '.join(before)}; then alike, {ours.word}")
    elif ours.word != "pass":
        tally.alike.append(f"{case}: {ours.word}")


def algorithm_rounds() -> list[dict[str, str]]:
    """Settings that together force every algorithm of every collective."""
    answer = subprocess.run([QUERY, "algorithms"], capture_output=True, text=True, check=True)
    names: dict[str, list[str]] = {}
    for entry in json.loads(answer.stdout):
        if entry["name"] != "host":
            names.setdefault(entry["collective"], []).append(entry["name"])
    rounds = max(len(each) for each in names.values())
    return [
        {f"SOBOR_{c.upper()}_ALGORITHM": each[i % len(each)] for c, each in names.items()}
        for i in range(rounds)
    ]


def run_round(mpi: Mpi, build: Path, cases: list[Case], bare: dict, sobor: dict) -> Tally:
    """All tests once with these variables."""
    tally = Tally()
    with ThreadPoolExecutor(2 if mpi.open_mpi else 1) as pool:
        done = [pool.submit(compare, mpi, build, case, sobor, bare, tally) for case in cases]
        for each in done:
            each.result()
    return tally


def tell(tally: Tally, sobor: dict, names: bool) -> None:
    """One line for a round, and lists on demand."""
    settings = " ".join(f"{k}={v}" for k, v in sobor.items()) or "defaults"
    print(
        f"{settings}: {tally.ran} tests, {tally.passed} pass, {tally.served} calls served, "
        f"{len(tally.worse)} worse than bare, {len(tally.better)} better, "
        f"{len(tally.alike)} fail both ways, {len(tally.unsteady)} unsteady",
        flush=True,
    )
    for what in ("alike", "unsteady") if names else ():
        for line in getattr(tally, what):
            print(f"  {what}: {line}")


def read_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("source", type=Path, help="unpacked source of MPICH")
    parser.add_argument("folders", nargs="*", default=["."], help="folders of test/mpi")
    parser.add_argument("--mpi", default="o41", choices=sorted(all_mpis()), help="the MPI")
    parser.add_argument("--most", type=int, default=0, help="most ranks of a test; 0: as it says")
    parser.add_argument("--only", default="", help="programs whose names match this expression")
    parser.add_argument("--skip", default="", help="leave out programs that match this expression")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--each-algorithm", action="store_true", help="force each in turn")
    parser.add_argument("--names", action="store_true", help="name what fails both ways too")
    return parser.parse_intermixed_args()


def select_cases(arguments: argparse.Namespace, build: Path, source: Path) -> list[Case]:
    """The tests that are asked for, each once, in the order of the lists."""
    mpi = all_mpis()[arguments.mpi]
    cases: dict[Case, None] = {}
    for folder in arguments.folders:
        found = read_cases(build, source, folder, arguments.most, mpi.open_mpi)
        cases |= dict.fromkeys(found)
    skip = arguments.skip or r"(?!)"
    return [
        case
        for case in cases
        if re.search(arguments.only, case.program) and not re.fullmatch(skip, case.program)
    ]


def main() -> int:
    """The command."""
    arguments = read_arguments()
    mpi = all_mpis()[arguments.mpi]
    source = arguments.source.resolve() / "test" / "mpi"
    if mpi.missing() is not None:
        sys.exit(mpi.missing())
    if not (source / "configure").exists():
        sys.exit(f"{source}: expected MPICH's test suite with its configure")
    build = WORK / "mpich-suite" / mpi.key
    configure(mpi, source, build)
    cases = build_all(mpi, build, select_cases(arguments, build, source))
    settings = {f"SOBOR_{word}".split("=", 1)[0]: word.split("=", 1)[1] for word in arguments.set}
    rounds = algorithm_rounds() if arguments.each_algorithm else [{}]
    bare: dict = {}
    worse = 0
    for number, forced in enumerate(rounds):
        tally = run_round(mpi, build, cases, bare, {**settings, **forced})
        tell(tally, {**settings, **forced}, arguments.names and number == 0)
        worse += len(tally.worse)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
