# SPDX-License-Identifier: BSD-3-Clause
"""The reference pages say what the code says."""

import os
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT
from sobor.bench.request import split_commands


def test_pages_are_up_to_date(real_native):
    result = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "write_reference.py"), "--check"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_comma_in_a_command_is_told_as_it_is_typed():
    """In --help, which is Markdown, one backslash is written as two; in a manual page it is not."""
    assert split_commands(r"mpirun --mca btl self\,vader") == ["mpirun --mca btl self,vader"]
    page = (ROOT / "share/man/man1/sobor-bench.1").read_text()
    assert r"a comma inside a command as \e,." in page


@pytest.mark.parametrize(
    "words", [["mandoc", "-T", "lint", "-W", "warning"], ["man", "--warnings", "-l"]], ids=" ".join
)
def test_manual_pages_are_well_formed(words):
    """What reads them has nothing to say; they have no date, as they follow from the code."""
    if shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]}")
    pages = sorted(map(str, (ROOT / "share/man/man1").glob("*.1")))
    assert len(pages) > 15
    done = subprocess.run([*words, *pages], capture_output=True, text=True, timeout=60, check=False)
    said = done.stderr if words[0] == "man" else done.stdout
    assert not [line for line in said.splitlines() if "missing date" not in line]
    assert words[0] != "man" or "Run a program with Sobor." in done.stdout
