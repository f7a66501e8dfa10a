# SPDX-License-Identifier: BSD-3-Clause
"""Plants faults, one after the other, and lets the tests look for each.

usage: plant.py FAULT... [--build FOLDER]

Each ends with a line that says whether it was found. To start Python and load what this needs takes
0.07 s, which several faults have once. The exit code is 77 where all are left out.

A fault is a text: a paragraph that says what is wrong, and lines of these words.

    In: src/coll/bcast/*.c      files, relative to the repository
    Find: use - round \\+ 1      a regular expression that is there once in all of them
    Put: use - round            what takes its place
    Within: coll/bcast/         of a header's users only those; without it, all
    By: sim                     what finds it, see below
    Expect: race|wrong          words of which one is reported
    Seconds: 40                 of a job of an MPI or of forked ranks that does not hang, but takes
                                long on a busy machine: ended after so many, not after 8; and
                                how long tests/unit/test_spread.c waits for a rank that goes
    Form: long                  left out but with SOBOR_TEST_LONG=1: others like it are found by
                                the same test

A blank in Find stands for any white space, so that line breaks do not matter; In, Find and Put may
come again. What may find a fault:

    sim [OPTIONS]               the suite of schedules
    fork NAME [WORDS]           a program of tests/fork, or of tests/unit: unit NAME
    cluster NAME [OPTIONS]      a program of tests/cluster, simulated
    heap NAME [OPTIONS]         a program of tests/heap, with the heap that is wrong preloaded
    mpi WORDS                   pytest with these words in tests/mpi; Sobor and the bench are wrong

Programs of tests/fork and tests/unit run on two processors: what they find depends on whether ranks
share them. With one alone a fault that is not found says nothing, and is skipped.

Where a job of an MPI or of forked ranks hangs, so that "timed out" is reported, the same test must
pass with what is right: a machine that is too slow finds no fault.

Only what the fault touches is compiled anew, and linked with what the build folder holds.

What is wrong, or is ended once its fault is found, leaves names in /dev/shm that the next job would
remove. They are removed here: tests under MPI that run beside it look for what they have left.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
#: Lines of a test that begins or has passed: they name what would fail, and report nothing.
WELL = re.compile(r"\[ +(RUN|OK) +\]|[: ] ok$")
SKIPPED = 77
FOUND = "found"
SECONDS = 120
#: A job that takes longer hangs, most likely.
HANGS = 8
#: The rest of a short program, which may hang once its fault is found.
REST = 3
#: Processors that programs run on which fork ranks.
ENOUGH = 2
#: What is in the libraries of both machines.
ALIKE = "sobor_alike"
#: What is in the bench's body of each MPI.
BENCH_ALIKE = "sobor_bench_alike"
#: Where Sobor's names are.
SHARED = Path("/dev/shm")
#: The back end and the bench's body of each MPI of the tests.
ABIS = {
    **dict.fromkeys(("o41", "o50"), "ompi40"),
    **dict.fromkeys(("m40", "m50", "i21"), "mpich12"),
    "a50": "mpiabi1",
}


class Unfit(Exception):
    """The fault cannot be planted, or not be looked for."""


class LeftOut(Exception):
    """Nothing can be said of the fault here."""


# No data classes: the module for them would be a fourth of what is loaded.
class Change:
    """One place that becomes wrong."""

    def __init__(self, files: str):
        self.files = files
        self.find = ""
        self.put = ""


class Fault:
    """What is planted, and what finds it."""

    def __init__(self, name: str, by: list[str] | None = None, expect: str = ""):
        self.name = name
        self.changes: list[Change] = []
        self.within = ""
        self.by = by or []
        self.expect = expect
        self.seconds = HANGS
        self.long = False


def read_fault(path: Path) -> Fault:
    """The fault that a file describes."""
    fault = Fault(path.stem)
    for line in path.read_text().splitlines():
        word, _, value = line.partition(":")
        value = value.strip()
        if word == "In":
            fault.changes.append(Change(value))
        elif word == "Find":
            fault.changes[-1].find = value
        elif word == "Put":
            fault.changes[-1].put = value
        elif word == "Within":
            fault.within = value
        elif word == "By":
            fault.by = shlex.split(value)
        elif word == "Expect":
            fault.expect = value
        elif word == "Seconds":
            fault.seconds = int(value)
        elif word == "Form":
            fault.long = value == "long"
    if not (fault.changes and fault.by and fault.expect):
        raise Unfit(f"{path.name}: expected In, Find, Put, By and Expect")
    return fault


def source_of(name: Path, copy: Path) -> Path:
    """The file by its name in the repository: what is wrong, where it is."""
    return copy / name if (copy / name).exists() else REPOSITORY / name


def plant(change: Change, copy: Path) -> Path:
    """Make the one place wrong; the file that it is in."""
    pattern = re.compile(change.find.replace(" ", r"\s+"), re.MULTILINE)
    names = sorted(path.relative_to(REPOSITORY) for path in REPOSITORY.glob(change.files))
    found = [
        (name, match)
        for name in names
        for match in pattern.finditer(source_of(name, copy).read_text())
    ]
    if len(found) != 1:
        places = [f"{name}" for name, _ in found]
        raise Unfit(f"{change.files}: {change.find}: expected once, found in {places}")
    name, match = found[0]
    text = match.string
    (copy / name).parent.mkdir(parents=True, exist_ok=True)
    (copy / name).write_text(text[: match.start()] + match.expand(change.put) + text[match.end() :])
    return name


def users_of(header: Path, copy: Path, within: str) -> list[Path]:
    """The sources that include a header, themselves or through others."""
    wanted, sources = {header}, set()
    names = [p.relative_to(REPOSITORY) for p in (REPOSITORY / header.parts[0]).rglob("*.[chd]*")]
    includes = {
        path: {
            path.parent / name if "/" not in name else Path("src") / name
            for name in INCLUDE.findall(source_of(path, copy).read_text())
        }
        for path in names
    }
    grown = True
    while grown:
        grown = False
        for path, included in includes.items():
            if path not in wanted | sources and included & wanted:
                (sources if path.suffix == ".c" else wanted).add(path)
                grown = True
    return sorted(path for path in sources if within in str(path))


class Build:
    """A build folder, and a folder of the sources that are wrong."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.copy = folder
        self.libraries = shlex.split((folder / "tests" / "faults" / "libraries.txt").read_text())
        self.commands = json.loads((folder / "compile_commands.json").read_text())
        words = shlex.split(self.commands[0]["command"])
        self.compiler = words[0]
        self.link_flags = [w for w in words if w.startswith(("-fsanitize=", "--coverage"))]
        if shutil.which("ld.gold"):  # takes half the time
            self.link_flags += ["-fuse-ld=gold", "-Wl,-S"]

    def of_target(self, target: str) -> list[tuple[Path, Path, dict]]:
        """Source, object and command of everything that a target is made of."""
        found = []
        for entry in self.commands:
            if f"/{target}.dir/" not in entry["command"]:
                continue
            output = re.search(r" -o (\S+)", entry["command"]).group(1)
            source = Path(entry["file"]).relative_to(REPOSITORY)
            found.append((source, Path(entry["directory"]) / output, entry))
        if not found:
            raise Unfit(f"{self.folder} has no target {target}")
        return found

    def compile(self, target: str, wrong: list[Path]) -> dict[Path, Path]:
        """The target's objects by source; those of the wrong sources made anew."""
        objects, running = {}, []
        for source, built, entry in self.of_target(target):
            objects[source] = built
            if source not in wrong:
                continue
            objects[source] = self.copy / "objects" / target / f"{source}.o"
            objects[source].parent.mkdir(parents=True, exist_ok=True)
            compiler, *words = shlex.split(entry["command"])
            words[words.index("-o") + 1] = str(objects[source])
            words[words.index(entry["file"])] = str(source_of(source, self.copy))
            # Headers beside it, and before all others those that are wrong. What is found does not
            # depend on what the optimizer does, which takes more than half of the time.
            found = ["-iquote", REPOSITORY / source.parent, "-I", self.copy / "src"]
            given = [*found, *words, "-w", "-g0", "-O0", f"-fmacro-prefix-map={self.copy}/="]
            running.append([compiler, *map(str, given)])
        for start in range(0, len(running), 2):
            pair = [subprocess.Popen(w, cwd=self.folder) for w in running[start : start + 2]]
            if sum(process.wait() != 0 for process in pair) > 0:
                raise Unfit("the wrong source does not compile")
        return objects

    def link(self, output: Path, words: list) -> None:
        """An executable or, with -shared among the words, a library."""
        output.parent.mkdir(parents=True, exist_ok=True)
        command = [self.compiler, *self.link_flags, "-o", output, *words, *self.libraries]
        if subprocess.run([str(word) for word in command], check=False).returncode != 0:
            raise Unfit(f"{output.name} with what is wrong does not link")

    def program(self, target: str, library: str, wrong: list[Path]) -> Path:
        """A program of the tests over a library that is wrong."""
        libraries = (f"{library}_baselines", library, ALIKE)
        objects = [pair for name in libraries for pair in self.compile(name, wrong).items()]
        changed = [built for source, built in objects if source in wrong]
        if not changed:
            raise Unfit(f"{library} has nothing of {', '.join(map(str, wrong))}")
        own = [built for _, built, _ in self.of_target(target)]
        output = self.copy / target
        archives = [self.folder / "src" / f"lib{name}.a" for name in libraries[:2]]
        if library == "sobor_core":
            archives.insert(0, self.folder / "tests" / "fork" / "libfork_job.a")
        self.link(output, [*own, *changed, *archives])
        return output

    def preload(self, abi: str, wrong: list[Path]) -> Path:
        """A build folder for the tests under MPI, in which the wrong objects are."""
        shadow = self.copy / "build"
        for name in ("bin", "lib/sobor", "libexec/sobor"):
            shutil.copytree(self.folder / name, shadow / name, copy_function=os.link)
        (shadow / "tests").mkdir()
        (self.folder / "tests" / "mpi").mkdir(exist_ok=True)
        (shadow / "tests" / "mpi").symlink_to(self.folder / "tests" / "mpi")
        both = {**self.compile("sobor_core", wrong), **self.compile(ALIKE, wrong)}
        core = [built for source, built in both.items() if source in wrong]
        archive = self.folder / "src" / "libsobor_core.a"
        for target, rest in (
            (f"sobor-{abi}", [*core, archive, "-Wl,-z,defs"]),
            (f"sobor-bench-{abi}", ["-Wl,--unresolved-symbols=ignore-all", "-Wl,-z,lazy"]),
            ("sobor", []),
        ):
            objects = self.compile(target, wrong)
            if target == f"sobor-bench-{abi}":
                objects |= self.compile(BENCH_ALIKE, wrong)
            if not (any(s in wrong for s in objects) or (core and target == f"sobor-{abi}")):
                continue
            prefix = "" if target == f"sobor-{abi}" else "lib"
            output = shadow / "lib" / "sobor" / f"{prefix}{target}.so"
            output.unlink()
            self.link(output, ["-shared", *objects.values(), *rest])
        return shadow


def expected(
    words: list, expect: str, environment: dict[str, str], folder: Path, rest: int = 0
) -> bool:
    """Whether what is expected is reported; the rest of the run may take so many seconds."""
    return bool(report(words, expect, environment, folder, rest))


def report(words: list, expect: str, environment: dict[str, str], folder: Path, rest: int) -> str:
    """The output if what is expected is in it, as far as there is within the rest; or nothing."""
    process = subprocess.Popen(
        words,
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
    signal.alarm(SECONDS)
    text, found = "", False
    for line in process.stdout:
        text += line
        if not found and re.search(expect, line) and not WELL.search(line):
            found = True
            if rest == 0:
                break
            signal.alarm(max(min(rest, signal.alarm(0)), 1))
    if found and rest == 0:
        os.killpg(process.pid, signal.SIGTERM)
        process.stdout.read()  # until the last of them has ended
    process.stdout.close()
    process.wait()
    signal.alarm(0)
    print(text[-6000:])
    if not found and re.search(r"^\d+ skipped", text, re.MULTILINE):
        raise LeftOut("what would find it is skipped")
    return text if found else ""


def run_on_two(find: Callable[[], bool]) -> bool:
    """What is found on two of the processors that this may use; skips what is not found on one."""
    allowed = sorted(os.sched_getaffinity(0))
    # Neighbours, of which tests that run side by side take others.
    first = os.getpid() % max(len(allowed) // ENOUGH, 1) * ENOUGH
    os.sched_setaffinity(0, allowed[first : first + ENOUGH])
    try:
        found = find()
    finally:
        os.sched_setaffinity(0, allowed)
    if not found and len(allowed) < ENOUGH:
        raise LeftOut(f"not found on {len(allowed)} processor, which may be too few")
    return found


def only_in(finds: Callable[[Path], str], wrong: Path, right: Path) -> bool:
    """Whether what is wrong is found, and not in what is right too, where a job took too long."""
    found = finds(wrong)
    return bool(found) and not ("timed out" in found and finds(right))


def look_for(fault: Fault, build: Build, wrong: list[Path]) -> bool:
    """Build what finds the fault, and run it."""
    kind, *words = fault.by
    if kind == "sim":
        suite = build.program("sim_suite_main", "sobor_simulated", wrong)
        # What a run that was stopped held is not freed.
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        command = [suite, *words, "--expect", fault.expect]
        try:
            done = subprocess.run(command, env=environment, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0
    if kind in ("fork", "unit"):
        name = f"{'fork' if kind == 'fork' else 'test'}_{words[0]}"
        program = build.program(name, "sobor_core", wrong)
        limit = {"SOBOR_TEST_SECONDS": str(fault.seconds)}
        # Tests of single parts take away the names that they have made as if of others.
        rest = REST if kind == "unit" else 0

        def finds_in(program: Path) -> str:
            return report([program, *words[1:]], fault.expect, limit, build.copy, rest)

        return run_on_two(lambda: only_in(finds_in, program, build.folder / "tests" / name))
    if kind == "cluster":
        program = build.program(f"cluster_{words[0]}", "sobor_simulated", wrong)
        environment = {"ASAN_OPTIONS": "detect_leaks=0"}
        return expected([program, *words[1:]], fault.expect, environment, build.copy)
    if kind == "heap":
        library = build.copy / "libsobor-heap.so"
        build.link(library, ["-shared", *build.compile("sobor-heap", wrong).values()])
        environment = {"LD_PRELOAD": str(library), "SOBOR_HEAP": "on", "PMI_RANK": "0"}
        program = build.folder / "tests" / f"heap_{words[0]}"
        return expected([program, *words[1:]], fault.expect, environment, build.copy)
    if kind != "mpi":
        raise Unfit(f"By: expected sim, fork, unit, cluster, heap or mpi, found {kind}")
    keys = [words[i + 1] for i, word in enumerate(words) if word == "--mpi"]
    shadow = build.preload(ABIS[keys[0] if keys else "o41"], wrong)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *words]

    def finds(folder: Path) -> str:
        environment = {
            "SOBOR_BUILD": str(folder),
            "SOBOR_TEST_SECONDS": str(fault.seconds),
            "SOBOR_TEST_STACKS": "off",  # why a planted fault hangs is known
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        return report(command, fault.expect, environment, REPOSITORY / "tests" / "mpi", SECONDS)

    return only_in(finds, shadow, build.folder)


def has_ended(path: Path) -> bool:
    """Whether the owner of a name in /dev/shm has: of a board its founder, where it has one."""
    kind, space = path.name.split(".")[1:3]
    with path.open("rb") as file:
        owner = struct.unpack("Q", file.read(8))[0] if kind == "board" else int(kind)
    here = int(space) == os.stat("/proc/self/ns/pid").st_ino
    return here and owner != 0 and not os.path.exists(f"/proc/{owner}")


def sweep() -> None:
    """Remove the names whose owners have ended, as a next job would."""
    for path in SHARED.glob("sobor.*"):
        with contextlib.suppress(OSError, ValueError, struct.error):
            if has_ended(path):
                path.unlink()


def find_planted(fault: Fault, build: Build) -> bool:
    """Plant a fault, and look for it."""
    build.copy = build.folder / "tests" / "faults" / fault.name
    shutil.rmtree(build.copy, ignore_errors=True)
    build.copy.mkdir(parents=True)
    wrong = []
    for change in fault.changes:
        path = plant(change, build.copy)
        wrong += users_of(path, build.copy, fault.within) if path.suffix != ".c" else [path]
    found = look_for(fault, build, wrong)
    if found:
        shutil.rmtree(build.copy)
    return found


def outcome_of(path: Path, build: Build) -> str:
    """What came of a fault, in words."""
    try:
        fault = read_fault(path)
        if fault.long and os.environ.get("SOBOR_TEST_LONG", "") in ("", "0"):
            return "left out: only with SOBOR_TEST_LONG=1"
        return FOUND if find_planted(fault, build) else f"nothing reports: {fault.expect}"
    except LeftOut as why:
        return f"left out: {why}"
    except Unfit as problem:
        return str(problem)
    finally:
        sweep()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("faults", type=Path, nargs="+")
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build" / "release")
    given = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # in order with what the programs say
    build = Build(given.build.resolve())
    outcomes = {}
    for path in given.faults:
        outcomes[path] = outcome_of(path, build)
        print(f"{path.name}: {outcomes[path]}")
    left_out = [path for path, outcome in outcomes.items() if outcome.startswith("left out")]
    failed = [path for path in outcomes if path not in left_out and outcomes[path] != FOUND]
    for path in failed:
        alone = shlex.join([sys.executable, __file__, str(path), "--build", str(build.folder)])
        print(f"\n{path.name}: {outcomes[path]}\nalone: {alone}")
    if failed:
        return 1
    return SKIPPED if len(left_out) == len(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
