# SPDX-License-Identifier: BSD-3-Clause
"""Every line of the pages that starts a job, with made-up launchers: Sobor reaches the program."""

import json
import os
import re
import shlex
import subprocess

import pytest

from conftest import BANNERS, ROOT, write_program

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_DEVELOPERS = {"internals.md"}
_STARTS = re.compile(
    r"^\s*(\./)?sobor (run|trace|profile) .*-- [^<]|^(LD_PRELOAD=|mpirun .*LD_PRELOAD=)\S* \S"
)
#: Does with the variables and the program what the launchers do.
LAUNCHER = """#!/bin/sh
[ "$1" != --version ] || { echo '@BANNER@'; exit; }
echo "started: ${0##*/} $*" >>"$LOG"
while :; do
    case $1 in
    -x) [ "${2%=*}" = "$2" ] || export "$2"; shift 2 ;;
    -genv) export "$2=$3"; shift 3 ;;
    -n|-N) shift 2 ;;
    exec) shift 2 ;;
    run|-*) shift ;;
    *) break ;;
    esac
done
exec "$@"
"""
PROGRAM = '#!/bin/sh\necho "program: $LD_PRELOAD" >>"$LOG"\n'
LAUNCHERS = {
    "mpirun": "openmpi4", "mpiexec": "mpich", "srun": "slurm", "flux": "unknown",
    "apptainer": "unknown", "numactl": "unknown",
}  # fmt: skip
PROGRAMS = ("app", "other", "asp", "bin/python3", "bin/lmp", "bin/hpcc")


def lines():
    """The lines, each once: inside a block of code or a sentence, without what explains them."""
    found = {}
    for page in PAGES:
        if page.name in _DEVELOPERS:
            continue
        text = page.read_text()
        blocks = re.findall(r"^ {4}(\S.*)$", text, re.MULTILINE)
        blocks += [line for block in re.findall(r"```\n(.*?)```", text, re.DOTALL)
                   for line in block.splitlines()]  # fmt: skip
        inline = re.findall(r"`([^`\n]+)`", text)
        words = [" ".join(json.loads(each)) for each in inline if each.startswith('["sobor"')]
        for line in (*blocks, *inline, *words):
            if _STARTS.search(line.strip()):
                plain = re.split(r"\s+#\s|\s{3,}", line.strip())[0].removeprefix("./")
                found.setdefault(plain, page.name)
    return found


LINES = lines()


def shape(line):
    """What lines have in common that need not all be run: other numbers, other settings."""
    return re.sub(r"--set \S+ ", "--set ", re.sub(r"\d+", "N", line))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with the programs of the lines, and launchers first on the PATH."""
    for name, banner in LAUNCHERS.items():
        text = LAUNCHER.replace("@BANNER@", BANNERS[banner].replace("\n", " "))
        write_program(tmp_path / "bin" / name, text)
    for name in PROGRAMS:
        write_program(tmp_path / name, PROGRAM)
    write_program(tmp_path / "bin" / "sobor", f'#!/bin/sh\nexec {ROOT}/sobor "$@"\n')
    (tmp_path / "nodes").write_text("a\nb\n")
    (tmp_path / "tuning.json").write_text('{"rules": []}')
    cluster = ROOT / "share" / "sobor" / "machines" / "cluster-16x8.json"
    (tmp_path / "mine.json").symlink_to(cluster)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "nodes"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_lines_are_found():
    used = {word for line in LINES for word in re.split(r"[\s/]+", line)}
    assert set(LAUNCHERS) <= used
    assert len(LINES) > 25


def test_every_line_is_understood(real_native, place, command):
    """By sobor itself, which says what it would start."""
    for line, page in LINES.items():
        words = shlex.split(line)
        if words[:2] in (["sobor", "run"], ["sobor", "trace"], ["sobor", "profile"]):
            result = command(words[1], "--print", *words[2:])
            assert result.status == 0 and "libsobor" in result.out, (page, line, result.err)


@pytest.mark.parametrize(
    "line", {shape(line): line for line in LINES if "--print" not in line}.values()
)
def test_line_starts_the_program(line, real_native, place):
    done = subprocess.run(
        ["sh", "-c", re.sub(r"--compare \d+", "--compare 1", line)],
        env={**os.environ, "SOBOR_PRELOAD": str(real_native.preload)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    log = (place / "log").read_text()
    assert "started: " in log, done.stderr
    shown = log + done.stdout
    assert re.search(r"(program: |LD_PRELOAD=)\S*libsobor", shown), done.stderr + log
    if " run " in line:
        assert done.returncode == 0, done.stderr
