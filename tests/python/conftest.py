# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the command share: stand-ins for the native parts and launchers."""

import functools
import json
import os
import signal
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from sobor import drawing, start  # noqa: E402
from sobor.native import Native  # noqa: E402

#: The command line is made of its functions once, not for each of a thousand lines.
typer.main.get_command = functools.cache(typer.main.get_command)

FAKES = Path(__file__).resolve().parent / "fakes"

BANNERS = {
    "openmpi4": "mpirun (Open MPI) 4.1.4\n\nReport bugs to ...",
    "openmpi5": "mpirun (Open MPI) 5.0.11\n\nReport bugs to ...",
    "openrte": "mpirun.openmpi (OpenRTE) 4.1.4\n",
    "mpich": "HYDRA build details:\n    Version:                                 4.0.2\n",
    "intel": "Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 20260929 (id: 1)\n",
    "slurm": "slurm-wlm 22.05.8\n",
    "unknown": "batchrun 3.2\n",
}


@dataclass
class Result:
    """What a command line gave."""

    status: int
    out: str
    err: str

    @property
    def json(self):
        """Its standard output, read as JSON."""
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path_factory):
    """No test sees the variables of the person who runs it, or writes into that person's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    for name in list(os.environ):
        if name.startswith(("SOBOR", "OMPI_MCA_", "SLURM_")):
            monkeypatch.delenv(name)
    monkeypatch.delenv("LD_PRELOAD", raising=False)


@pytest.fixture
def figures_drawn_once(monkeypatch):
    """Figures as users get them, but that nobody looks for room for what is written at axes."""
    if os.environ.get("SOBOR_TEST_LONG", "") in ("", "0"):
        monkeypatch.setattr(drawing, "LAYOUT", "none")


@pytest.fixture
def command(capfd):
    """Runs a command line of sobor in this process."""

    def run(*arguments: str) -> Result:
        capfd.readouterr()
        status = start.main(list(arguments))
        out, err = capfd.readouterr()
        return Result(status, out, err)

    return run


def write_program(path: Path, text: str) -> Path:
    """Writes an executable script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


def python_program(path: Path, source: Path) -> Path:
    """Installs one of the fakes under another name, run by this Python."""
    return write_program(path, f"#!{sys.executable} -IS\n{source.read_text()}")


@pytest.fixture
def fake_native(tmp_path, monkeypatch) -> Native:
    """Native parts that answer like the real ones, chosen by SOBOR_PREFIX."""
    prefix = tmp_path / "native"
    native = Native(prefix)
    native.libraries.mkdir(parents=True)
    for name in ("libsobor.so", "libsobor-heap.so", "sobor-ompi40.so", "sobor-mpich12.so"):
        (native.libraries / name).touch()
    for abi in ("ompi40", "mpich12"):
        (native.libraries / f"libsobor-bench-{abi}.so").touch()
    python_program(native.query_tool, FAKES / "query.py")
    python_program(native.bench, FAKES / "bench.py")
    python_program(native.simulator, FAKES / "simulate.py")
    monkeypatch.setenv("SOBOR_PREFIX", str(prefix))
    return native


@pytest.fixture
def launcher_folder(tmp_path, monkeypatch) -> Path:
    """An empty folder that comes first on the PATH."""
    folder = tmp_path / "mpi" / "bin"
    folder.mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.fixture
def make_launcher(launcher_folder):
    """Makes a launcher that prints a banner for --version and else runs its program once."""

    def make(name: str, banner: str) -> Path:
        text = (FAKES / "launcher.py").read_text().replace('"@BANNER@"', repr(BANNERS[banner]))
        return write_program(launcher_folder / name, f"#!{sys.executable} -IS\n{text}")

    return make


@pytest.fixture
def openmpi(make_launcher, launcher_folder) -> Path:
    """An Open MPI on the PATH."""
    library = launcher_folder.parent / "lib" / "libmpi.so.40"
    library.parent.mkdir(exist_ok=True)
    library.touch()
    return make_launcher("mpirun", "openmpi4")


@pytest.fixture
def arguments(tmp_path, monkeypatch):
    """What the fakes were called with."""
    path = tmp_path / "arguments"
    monkeypatch.setenv("FAKE_ARGUMENTS", str(path))
    return lambda: [json.loads(line) for line in path.read_text().splitlines()]


def option(words: list[str], name: str) -> str:
    """The value behind an option."""
    return words[words.index(name) + 1]


@pytest.fixture
def executed(monkeypatch):
    """What the command would have become; signals are as Python has them again afterwards."""
    calls = []
    monkeypatch.setattr(os, "execvpe", lambda *arguments: calls.append(arguments))
    before = {number: signal.getsignal(number) for number in (signal.SIGPIPE, signal.SIGXFSZ)}
    yield calls
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def real_native(monkeypatch) -> Native:
    """The native parts of the build, or the test is skipped."""
    prefix = Path(os.environ.get("NATIVE_TEST_PREFIX", ROOT / "build" / "release"))
    native = Native(prefix)
    if not (native.preload.is_file() and native.query_tool.is_file()):
        pytest.skip(f"no native parts in {prefix}")
    monkeypatch.setenv("SOBOR_PREFIX", str(prefix))
    return native
