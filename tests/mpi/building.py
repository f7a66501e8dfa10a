# SPDX-License-Identifier: BSD-3-Clause
"""Compiling the test programs with each MPI's own compilers."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import subprocess
from pathlib import Path

from mpis import EMULATOR, LAUNCH_ENVIRONMENT, WORK, Mpi

PROGRAMS = Path(__file__).resolve().parent / "programs"
#: What is installed as an example, and built as a user would.
EXAMPLES = Path(__file__).resolve().parents[2] / "share" / "sobor" / "examples"
SHARED = ("support.c", "cases.c", "layout.c", "moving.c")
#: What C programs have besides, and its functions that stand in for others; and those for one MPI.
BESIDES = {"resting.c": ["sched_yield"]}
#: Functions of its own that a program puts in the place of others.
EXPORTED = {"no_memory": ["malloc", "calloc", "aligned_alloc"], "windows": ["syscall"]}
BESIDES_OF = {
    "m40": {"yielding.c": ["ucp_worker_progress", "ucp_worker_destroy", "read"]},
    "i21": {"calibrating.c": ["usleep"]},
}
SOURCES = Path(__file__).resolve().parents[2] / "src"
#: Programs that look at the datatype engine from within are built with what it is made of, as it
#: was built for the library: what knows no MPI, and the parts of each back end.
CORE = WORK.resolve().parents[1] / "src" / "libsobor_core.a"
FRONTS = WORK.resolve().parent
#: Programs that are parts of the program `row` too, their `main` by a name of its own.
IN_ROW = (
    *("barriers", "basics", "communicators", "datatypes", "early", "intercomm", "mixed"),
    "unequal",
)
INSIDE = {"flatten": [PROGRAMS / "typemap.c"], "pack_speed": [], "devices": []}
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-error=deprecated-declarations"]
LANGUAGES = {
    ".c": ("c", ["-std=gnu17", "-O1", "-g1", *WARNINGS]),
    ".cpp": ("c++", ["-std=c++17", "-O1", "-g1", "-Wall", "-Wextra"]),
    # Old interfaces give one procedure arguments of many types; that is how they are meant.
    ".f": ("fortran", ["-O1", "-g1", "-std=legacy", "-w"]),
    ".f90": ("fortran", ["-O1", "-g1", "-w"]),
}


class CannotBuild(Exception):
    """The MPI has no compiler for the language."""


def _source(name: str) -> Path:
    for suffix in LANGUAGES:
        path = PROGRAMS / f"{name}{suffix}"
        if path.exists():
            return path
    raise FileNotFoundError(f"no program {name} in {PROGRAMS}")


def functions_besides(mpi: Mpi) -> dict[str, list[str]]:
    """What C programs have besides, and its functions that stand in for others."""
    return {} if EMULATOR else {**BESIDES, **BESIDES_OF.get(mpi.key, {})}


def _inside_flags(mpi: Mpi) -> list[str]:
    return ["-O2", "-D_GNU_SOURCE=", f"-DSB_ABI_{mpi.backend.upper()}", f"-I{SOURCES}"]


@functools.cache
def _newest_header(inside: bool) -> float:
    """When the last of the headers that a program may include was changed."""
    headers = [*PROGRAMS.glob("*.h")]
    if inside:
        headers += [*SOURCES.rglob("*.h"), *SOURCES.rglob("*.def")]
    return max(path.stat().st_mtime for path in headers)


def _is_fresh(target: Path, inputs: list[Path], compiler: str, inside: bool) -> bool:
    if not target.exists():
        return False
    tools = [Path(compiler)] if os.sep in compiler else []
    newest = max(_newest_header(inside), *(p.stat().st_mtime for p in [*inputs, *tools]))
    return target.stat().st_mtime > newest


def _compile(command: list[str], target: Path) -> None:
    fresh = target.with_suffix(f".{os.getpid()}")
    done = subprocess.run(
        [*command, "-o", str(fresh)],
        env={**os.environ, **LAUNCH_ENVIRONMENT},
        capture_output=True,
        text=True,
        cwd=target.parent,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    fresh.replace(target)


def make_objects(folder: Path, sources: list[Path], command: list[str]) -> list[str]:
    """Sources that several programs share, each compiled once for all of them."""
    objects = []
    folder.mkdir(parents=True, exist_ok=True)
    for source in sources:
        target = folder / f"{source.stem}.o"
        if not _is_fresh(target, [source], command[0], False):
            _compile([*command, "-c", str(source)], target)
        objects.append(str(target))
    return objects


@contextlib.contextmanager
def alone(target: Path):
    """Who else wants the same waits: what is being run must not be put in its place once more."""
    with open(target.with_name(f".{target.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(mpi: Mpi, name: str) -> Path:
    """The program built for this MPI; compiled only when something is newer than it."""
    source = _source(name)
    language, flags = LANGUAGES[source.suffix]
    if language not in mpi.compilers:
        raise CannotBuild(f"{mpi.key} has no {language} compiler")
    folder, inside = WORK / "programs", name in INSIDE
    target = folder / mpi.key / name
    target.parent.mkdir(parents=True, exist_ok=True)
    parts = IN_ROW if name == "row" else (name,) if name in IN_ROW else ()
    own = [*([] if name in IN_ROW else [source]), *INSIDE.get(name, [])]
    besides = functions_besides(mpi) if source.suffix == ".c" else {}
    shared = [*SHARED, *besides] if source.suffix == ".c" else []
    helpers = [PROGRAMS / helper for helper in shared]
    engine = [FRONTS / f"libfront_{mpi.backend}.a", CORE] if inside else []
    sources = [*own, *(PROGRAMS / f"{part}.c" for part in parts)]
    compiler = mpi.compilers[language]
    with alone(target):
        if not _is_fresh(target, [*sources, *helpers, *engine], compiler, inside):
            command = [compiler, *flags]
            objects = make_objects(target.parent / "helpers", helpers, [*command, "-O2"])
            for part in parts:
                renamed = [*command, f"-Dmain={part}_main"]
                objects += make_objects(target.parent / "in_row", [PROGRAMS / f"{part}.c"], renamed)
            if inside:
                command += _inside_flags(mpi)
                objects += map(str, engine)
            exported = [
                f"-Wl,--export-dynamic-symbol={f}"
                for names in [*besides.values(), EXPORTED.get(name, [])]
                for f in names
            ]
            if name in IN_ROW:
                exported.append(f"-Wl,--defsym=main={name}_main")
            libraries = ["-ldl", "-lpthread", "-lm"]
            _compile([*command, *map(str, own), *objects, *exported, *libraries], target)
    return target


def build_plain(name: str) -> Path:
    """A program without MPI, built by the system's own compiler."""
    target = WORK / "programs" / "plain" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    source = PROGRAMS / f"{name}.c"
    with alone(target):
        if not _is_fresh(target, [source], "cc", False):
            _compile(["cc", "-O1", "-g1", *WARNINGS, str(source), "-ldl"], target)
    return target


def build_preload(name: str) -> Path:
    """A shared object without MPI, to be preloaded."""
    target = WORK / "programs" / "plain" / f"{name}.so"
    target.parent.mkdir(parents=True, exist_ok=True)
    source = PROGRAMS / f"{name}.c"
    with alone(target):
        if not _is_fresh(target, [source], "cc", False):
            _compile(
                ["cc", "-O1", "-g1", "-shared", "-fPIC", *WARNINGS, str(source), "-ldl"], target
            )
    return target


def build_example(mpi: Mpi, name: str) -> Path:
    """An example program, of its one source."""
    target = WORK / "programs" / mpi.key / f"example_{name}"
    target.parent.mkdir(parents=True, exist_ok=True)
    source = EXAMPLES / f"{name}.c"
    with alone(target):
        if not _is_fresh(target, [source, *EXAMPLES.glob("*.h")], mpi.compilers["c"], False):
            _compile([mpi.compilers["c"], "-std=c17", "-O2", *WARNINGS, str(source)], target)
    return target


def build_between(mpi: Mpi, side: str) -> Path:
    """The made-up side of the bench, host or program, as a shared object over the MPI."""
    target = WORK / "programs" / mpi.key / f"between_{side}.so"
    target.parent.mkdir(parents=True, exist_ok=True)
    source = PROGRAMS / "between.c"
    with alone(target):
        if not _is_fresh(target, [source], mpi.compilers["c"], False):
            flags = ["-O1", "-shared", "-fPIC", *WARNINGS, f"-DAS_{side.upper()}"]
            _compile([mpi.compilers["c"], *flags, str(source), "-ldl"], target)
    return target
