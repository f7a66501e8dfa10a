# SPDX-License-Identifier: BSD-3-Clause
"""The command line of sobor run."""

import ast
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, write_program
from sobor import console, start

# Modules that Python has loaded when the launcher takes its place: 132 without those of tables and
# command lines, more than 400 with them.
MODULES_MOST = 150


def test_takes_the_place_of_the_process(command, fake_native, make_launcher, executed):
    make_launcher("mpirun", "openmpi4")
    assert command("run", "--", "mpirun", "-n", "2", "app").status == 0
    ((file, argv, environ),) = executed
    assert file == "mpirun"
    assert argv[1:3] == ["-x", f"LD_PRELOAD={fake_native.preload}"]
    assert "LD_PRELOAD" not in environ


def test_plain_program_gets_the_environment(command, fake_native, executed):
    command("run", "--set", "RING=1MiB", "--", "sh", "-c", "true")
    ((_, argv, environ),) = executed
    assert argv == ["sh", "-c", "true"]
    assert environ["LD_PRELOAD"] == str(fake_native.preload)
    assert environ["SOBOR_RING"] == "1MiB"


def test_heap_stands_before_all_other_preloads(command, fake_native, executed, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", "/theirs.so")
    both = f"{fake_native.heap}:/theirs.so:{fake_native.preload}"
    for words in (["--heap"], ["--set", "HEAP=on"]):
        command("run", *words, "--", "sh", "-c", "true")
        environ = executed.pop()[2]
        assert environ["LD_PRELOAD"] == both
        assert environ["SOBOR_HEAP"] == "on"
    command("run", "--set", "HEAP=off", "--", "sh", "-c", "true")
    assert executed.pop()[2]["LD_PRELOAD"] == f"/theirs.so:{fake_native.preload}"


def test_dashes_may_be_left_out(command, fake_native, executed):
    command("run", "sh", "--print")
    assert executed[0][1] == ["sh", "--print"]


def test_print_can_be_typed_again(command, fake_native, executed):
    shown = command("run", "--print", "--set", "RING=1MiB", "--", "sh", "-c", "a b")
    assert shlex.split(shown.out) == [
        f"LD_PRELOAD={fake_native.preload}",
        "SOBOR_RING=1MiB",
        *("sh", "-c", "a b"),
    ]
    assert executed == []


def test_json_shows_and_does_not_run(command, fake_native, make_launcher, executed):
    make_launcher("mpiexec", "mpich")
    result = command("run", "--json", "--", "mpiexec", "-n", "2", "app")
    preload = str(fake_native.preload)
    assert result.json == {
        "argv": ["mpiexec", "-genv", "LD_PRELOAD", preload, "-n", "2", "app"],
        "env": {},
    }
    assert executed == []


def test_json_into_a_file(command, fake_native, make_launcher, executed, tmp_path):
    """A word between --json and -- or an option is a file; else it is the launcher."""
    make_launcher("mpiexec", "mpich")
    launcher = ["mpiexec", "-n", "2", "app"]
    shown = command("run", "--json", *launcher).json
    for words in (["--json", "FILE"], ["--json=FILE"], ["--json", "FILE", "--set", "HEAP=off"]):
        file = tmp_path / "launch.json"
        named = [word.replace("FILE", str(file)) for word in words]
        result = command("run", *named, "--", *launcher)
        assert result.status == 0, result.err
        assert "mpiexec -genv" in result.out and str(file) in result.err
        argv = json.loads(file.read_text())["argv"]
        assert argv[:4] == shown["argv"][:4] and argv[-3:] == launcher[1:]
        file.unlink()
    for nowhere in (str(tmp_path / "no" / "x"), ""):
        result = command("run", "--json", nowhere, "--", *launcher)
        assert result.status == 2 and "--json: " in result.err
    assert executed == []


def test_heap_needs_no_full_command_line(command, fake_native, monkeypatch):
    """Reading --heap takes no longer than any other start."""
    monkeypatch.setattr("sobor.cli.app", None)
    assert "SOBOR_HEAP=on" in command("run", "--heap", "--print", "--", "sh").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--bogus", "--", "sh"], ["No such option", "--bogus"]),
        ([], ["LAUNCHER"]),
        (["--set", "RINGS=1", "--", "sh"], ["SOBOR_RINGS", "did you mean SOBOR_RING?"]),
        (["--set", "RING=x", "--", "sh"], ["SOBOR_RING", 'found "x"']),
        (["--", "no-such-program"], ["no-such-program: command not found"]),
    ],
)
def test_errors_name_what_is_wrong(command, fake_native, arguments, words):
    result = command("run", *arguments)
    assert result.status == 2
    assert result.out == ""
    for word in words:
        assert word in result.err


def test_unknown_variable_of_the_environment(command, fake_native, executed, monkeypatch):
    """It reaches the ranks: the library tells of it, once for the job."""
    monkeypatch.setenv("SOBOR_RNG", "8")
    result = command("run", "--print", "--", "sh")
    assert result.err == ""
    assert "SOBOR_RNG=8" in result.out


def test_without_native_parts(command, tmp_path, monkeypatch):
    monkeypatch.setenv("SOBOR_PREFIX", str(tmp_path))
    result = command("run", "--", "sh")
    assert result.status == 2
    assert "libsobor.so" in result.err


def test_program_that_cannot_be_started(command, fake_native, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "execvpe", refuse)
    result = command("run", "--", "sh")
    assert result.status == 2
    assert "sh: cannot be started: Permission denied" in result.err


def started(*words, **environ):
    """What a program says that the command has started, and the same program by itself."""
    program = ["grep", "-aE", "SigIgn|LC_CTYPE", "/proc/self/status", "/proc/self/environ"]
    command = [sys.executable, "-I", ROOT / "python" / "sobor", *words, "--", *program]
    for each in (command, program):
        answer = subprocess.run(each, env=environ, capture_output=True, check=False)
        yield re.findall(rb"SigIgn:.*|LC_CTYPE=[^\0]*", answer.stdout)


@pytest.mark.parametrize("words", [("run",), ("trace", "--output", "FOLDER"), ("profile",)])
@pytest.mark.parametrize("given", [{}, {"LC_CTYPE": "C.UTF-8"}])
def test_programs_get_what_was_given(fake_native, tmp_path, monkeypatch, words, given):
    """Python ignores signals and, in the C locale, sets LC_CTYPE: both are its own business."""
    (fake_native.libraries / "libsobor-profile.so").touch()
    monkeypatch.chdir(tmp_path)
    environ = {
        **given,
        "LC_ALL": "",
        "PATH": os.environ["PATH"],
        "SOBOR_PREFIX": os.environ["SOBOR_PREFIX"],
    }
    named = [word.replace("FOLDER", str(tmp_path / "trace")) for word in words]
    with_sobor, bare = started(*named, **environ)
    assert with_sobor == bare and len(bare) == 1 + len(given)


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_output_may_be_closed(fake_native, tmp_path, closed):
    """As where a daemon starts it: the program runs, and finds closed what was closed."""
    own = f"{sys.executable} -I {ROOT}/python/sobor"
    file = tmp_path / "closed"
    program = f"for n in 0 1 2; do [ -e /proc/$$/fd/$n ] || echo $n >> {file}; done"
    found = []
    for begin in ("", f"{own} run -- "):
        file.write_text("")
        told = ["bash", "-c", f"{begin}sh -c {shlex.quote(program)} {closed}"]
        assert subprocess.run(told, check=False).returncode == 0
        found.append(file.read_text())
    assert found[0] == found[1] != ""
    for words, status in (("info --variables", 0), ("report /none", 2)):
        told = ["bash", "-c", f"{own} {words} {closed}"]
        answer = subprocess.run(told, capture_output=True, check=False)
        assert answer.returncode == status and b"Traceback" not in answer.stdout + answer.stderr


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_words_that_are_no_text(fake_native, tmp_path, locale):
    """A file's name may be any bytes: they are written as they are, in JSON as it can have them."""
    word, file = b"./caf\xe9", os.fsencode(tmp_path) + b"/j\xe9.json"
    own = [sys.executable, "-I", ROOT / "python" / "sobor", "run"]
    environ = {**os.environ, "LC_ALL": locale, "PYTHONCOERCECLOCALE": "0"}

    def answer(*words) -> bytes:
        told = [*own, *words, "--", "env", word]
        return subprocess.run(told, env=environ, capture_output=True, check=True).stdout

    assert word in answer("--print")
    answer("--json", file)
    for text in (answer("--json", "-"), Path(os.fsdecode(file)).read_bytes()):
        assert os.fsencode(json.loads(text.decode())["argv"][-1]) == word


def test_version(command):
    result = command("--version")
    assert result.status == 0
    assert result.out.startswith("sobor 0.")


def test_help_without_a_command(command):
    result = command()
    for name in ("run", "doctor", "info", "bench"):
        assert name in result.out + result.err


def test_little_is_loaded_before_the_launcher(fake_native):
    """What is loaded is what the start of a program waits for."""
    command = [sys.executable, "-I", "-X", "importtime", ROOT / "python" / "sobor"]
    result = subprocess.run(
        [*command, "run", "--print", "--", "sh"], capture_output=True, text=True, check=True
    )
    assert "LD_PRELOAD=" in result.stdout
    loaded = [line.rpartition("|")[2].strip() for line in result.stderr.splitlines()]
    assert "sobor.run" in loaded
    assert not {"rich", "typer", "click", "matplotlib"}.intersection(loaded)
    assert len(loaded) <= MODULES_MOST, loaded


@pytest.mark.parametrize("words", [["run", "--help"], ["run", "-h"]])
def test_help_of_run(command, words):
    result = command(*words)
    assert result.status == 0
    assert "LAUNCHER" in result.out and "--set" in result.out


#: A Python that has neither rich nor typer.
BARE = "import runpy, sys; sys.modules |= {'rich': None, 'typer': None};"
BARE += (
    " sys.argv[0] = sys.argv[0] or 'sobor'; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "RINGS=1", "--", "sh"], "SOBOR_RINGS is not a variable"),
        (["--print", "--", "mpirun", "-n", "2", "./no"], "LD_PRELOAD="),
        (["--json", "--", "sh", "-c", "true"], '"LD_PRELOAD": '),
    ],
)
def test_without_rich(fake_native, make_launcher, words, message):
    make_launcher("mpirun", "unknown")
    command = [sys.executable, "-c", BARE, ROOT / "python" / "sobor" / "__main__.py", "run", *words]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert message in answer.stdout + answer.stderr and "Traceback" not in answer.stderr


def test_a_checkout_without_packages_is_built():
    command = [sys.executable, "-c", BARE, ROOT / "python" / "sobor" / "__main__.py", "info"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert f"remedy: make -C {ROOT} build" in answer.stderr


OLD = "import runpy, sys; sys.version_info = (3, 9, 2); sys.argv[0] = sys.argv.pop(1); "
OLD += "runpy.run_path(sys.argv[0], run_name='__main__')"


def test_an_old_python_is_told():
    """Whichever python3 an installation without packages of its own finds."""
    main = ROOT / "python" / "sobor" / "__main__.py"
    ast.parse(main.read_text(), feature_version=(3, 7))
    for words in (["run", "--", "sh"], ["info"]):
        command = [sys.executable, "-I", "-c", OLD, main, *words]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert answer.stderr.startswith("sobor: needs Python 3.10 or later, found 3.9.2 (")
        assert answer.stderr.endswith("; set SOBOR_PYTHON to a later one\n")


def test_an_installation_without_a_network_says_where_packages_go(tmp_path):
    """The command looks at no packages of a user."""
    python = write_program(tmp_path / "python", '#!/bin/sh\n[ "$1" != -m ]\n')
    answer = subprocess.run(
        ["sh", ROOT / "scripts" / "install_command.sh", tmp_path / "venv"],
        env={**os.environ, "SOBOR_PYTHON": str(python)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert answer.returncode == 0 and not (tmp_path / "venv").exists()
    assert "of 3.10 or later" in answer.stderr and "not with\npip --user" in answer.stderr


def test_an_interrupt_is_no_fault(fake_native):
    """While it finds out what to start, as on a slow file system."""
    write_program(fake_native.query_tool, "#!/bin/sh\nkill -INT $PPID\nexec sleep 60\n")
    answer = subprocess.run(
        [sys.executable, "-I", ROOT / "python" / "sobor", "run", "--set", "RING=1MiB", "--", "sh"],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        capture_output=True, text=True, timeout=50, check=False,
    )  # fmt: skip
    assert (answer.returncode, answer.stdout, answer.stderr) == (130, "", "")


def test_letters_that_the_output_does_not_have(fake_native):
    """As where the locale is one of ISO 8859; what programs read stays right."""
    answers = {}
    for words in (("info",), ("info", "--json")):
        answers[words] = subprocess.run(
            [sys.executable, ROOT / "python" / "sobor", *words],
            env={**os.environ, "PYTHONIOENCODING": "ascii", "SOBOR_TRACE": "Ψ"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert answers[words].returncode == 0, answers[words].stderr
    assert r"1 \xd7 2 cores" in answers["info",].stdout
    with contextlib.redirect_stdout(io.StringIO()) as text:  # which has no encoding
        assert start.main(["info", "--json"]) == 0
    assert json.loads(text.getvalue())
    assert "Ψ" in json.dumps(json.loads(answers["info", "--json"].stdout), ensure_ascii=False)


def test_users_words_are_no_markup(command, fake_native, executed, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for folder in ("run[b]", "a[/b]", "a:b:c"):
        result = command("trace", "-o", folder, "--", "sh")
        assert result.status == 0 and f"afterwards: sobor report {folder}\n" in result.err
    out = console.out()
    table = console.table(out, "[b]")
    table.add_row("a[/b] :b:")
    out.print(table)
    assert capfd.readouterr().out.split() == ["[b]", "a[/b]", ":b:"]


@pytest.mark.parametrize("words", [["info"], ["info", "--json"], ["run", "--print", "--", "sh"]])
def test_output_that_cannot_be_written(fake_native, words):
    command = [sys.executable, "-I", ROOT / "python" / "sobor", *words]
    with open("/dev/full", "wb") as full:
        answer = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert answer.returncode == 2
    assert answer.stderr == "sobor: what is written: No space left on device\n"
    reader, writer = os.pipe()
    os.close(reader)
    answer = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (answer.returncode, answer.stderr) == (1, "")


def test_files_are_written_though_nobody_reads_the_output(tmp_path):
    """As behind `| head`: what took minutes to measure may be in them."""
    file = tmp_path / "machines.json"
    words = ["simulate", "--list", "--json", str(file)]
    reader, writer = os.pipe()
    os.close(reader)
    answer = subprocess.run(
        [sys.executable, "-I", ROOT / "python" / "sobor", *words], stdout=writer, check=False
    )
    os.close(writer)
    assert answer.returncode == 1
    assert json.loads(file.read_text())


def test_a_file_on_a_full_disk_is_named(command):
    result = command("simulate", "--list", "--json", "/dev/full")
    assert result.status == 2
    assert "--json: /dev/full cannot be written: No space left on device" in result.err


def test_a_checkout_that_moved_runs_its_own_code(tmp_path):
    """The environment, here the old one, holds paths of where it was made."""
    for name in ("sobor", "VERSION"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "python", tmp_path / "python")
    (tmp_path / "VERSION").write_text("99.0.1\n")
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    answer = subprocess.run(
        [tmp_path / "sobor", "--version"], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "sobor 99.0.1\n"
