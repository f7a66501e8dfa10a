# SPDX-License-Identifier: BSD-3-Clause
"""scripts/trace_call.py: how it counts files, and that docs/internals.md shows what it finds."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT

SCRIPT = ROOT / "scripts" / "trace_call.py"
PAGE = (ROOT / "docs" / "internals.md").read_text()
LONG = os.environ.get("SOBOR_TEST_LONG", "") not in ("", "0")
#: How a machine copies is its own: the page shows no loop of it.
COPY = "machine/real/copy.c"


@pytest.fixture(scope="module")
def script():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("trace_call", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def chain_of(sources: int, headers: int):
    """One function in each of so many files, each called by the one before."""
    files = [*(f"a/{i}.c" for i in range(sources)), *(f"a/{i}.h" for i in range(headers))]
    return [(depth, f"f{depth}", file) for depth, file in enumerate(files)]


@pytest.mark.parametrize(
    ("sources", "headers", "status"), [(10, 30, 0), (11, 0, 1), (1, 0, 0), (0, 9, 1)]
)
def test_sources_count_and_headers_do_not(script, capsys, sources, headers, status):
    chain = [(0, "MPI_Bcast", "stub/trampolines.S"), *chain_of(sources, headers)]
    assert script.show(chain) == status
    told = capsys.readouterr()
    assert f": {sources} files entered, inline functions of {headers} headers" in told.out
    assert told.err == (f"expected 1 to 10 files, found {sources}\n" if status else "")


def test_a_file_is_entered_once(script, capsys):
    chain = [(0, "f", "a/b.c"), (1, "g", "a/c.c"), (2, "f", "a/b.c"), (1, "h", "a/c.c")]
    assert script.show(chain) == 0
    assert "3 functions: 2 files entered" in capsys.readouterr().out


def calls(text: str) -> list[tuple[int, str, str]]:
    """Depth, function and file of each line of a chain."""
    lines = re.findall(r"^( *)(\w+) +(\S+/\S+\.\w+)$", text, re.MULTILINE)
    return [(len(indent) // 2, function, file) for indent, function, file in lines]


def sources(chain: list[tuple[int, str, str]]) -> set[tuple[int, str, str]]:
    """What is no function of a header, but for how this machine copies."""
    return {call for call in chain if not call[2].endswith(".h") and call[2] != COPY}


@pytest.fixture(scope="module")
def traced():
    """What the script prints for a rank, built once."""
    if not LONG:
        pytest.skip("only with SOBOR_TEST_LONG=1")
    if not all(map(shutil.which, ("cmake", "ninja", "mpicc", "mpirun", "addr2line"))):
        pytest.skip("needs cmake, ninja, an MPI and addr2line")
    built = []

    def run(rank: int) -> str:
        words = [sys.executable, str(SCRIPT), "--rank", str(rank), *built]
        done = subprocess.run(words, capture_output=True, text=True, timeout=1200, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        built[:] = ["--no-build"]
        return done.stdout

    return run


def test_the_page_shows_what_is_entered(traced, monkeypatch):
    monkeypatch.setenv("SOBOR_BCAST_ALGORITHM", "ring")  # which prices of this processor choose
    text = traced(1)
    shown = calls(re.search(r"\n```\n(MPI_Bcast .*?)```", PAGE, re.DOTALL)[1])
    found = calls(text)
    rest = iter(found)
    missing = [call for call in shown if call not in rest]
    assert not missing, text
    # Small functions of headers alone are left out.
    assert sources(found) == sources(shown), text


def test_the_page_tells_how_many_files_are_entered(traced):
    entered = []
    for rank in (0, 1):
        files = {file for _, _, file in calls(traced(rank)) if file.endswith(".c")}
        entered.append(len(files | {COPY}))
    assert "The root enters {} files and a receiver {},".format(*entered) in " ".join(PAGE.split())
