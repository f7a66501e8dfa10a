# SPDX-License-Identifier: BSD-3-Clause
"""The tree of commands: one vocabulary, and what shells complete."""

import shutil
import subprocess
from collections import defaultdict

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from conftest import ROOT
from sobor.cli import app
from sobor.options import WORDS, finite

#: Options of one name that do not mean the same everywhere, and why.
EXCEPTIONS = {
    ("doctor", "--launcher"): "several programs to look at, not the one to start",
    ("info", "--algorithms"): "it asks for their list",
    ("bench", "--algorithms"): "it names those to force",
    ("simulate", "--calls"): "a number of calls to make",
    ("model efficiency", "--calls"): "the calls that a program makes",
    ("info", "--placement"): "it asks what the system does",
    ("simulate", "--placement"): "it says what the simulator does",
    ("bench", "--study"): "it names one of several",
    ("model allgather", "--study"): "there is one",
    ("bench", "--sync"): "whose barrier; without the simulator's other ways",
    ("simulate", "--sync"): "whether there is a barrier",
}


def commands(command=None, name=""):
    """All commands with their names, the groups left out."""
    command = command or get_command(app)
    if not hasattr(command, "commands"):
        yield name, command
        return
    for word, each in command.commands.items():
        yield from commands(each, f"{name} {word}".strip())


def options():
    """Name of the option, to the commands that have it, to the option."""
    found = defaultdict(dict)
    for name, command in commands():
        for each in command.params:
            for word in each.opts if each.param_type_name == "option" else ():
                found[word][name] = each
    return found


def test_options_of_one_name_are_one():
    shared = {name: places for name, places in options().items() if len(places) > 1}
    assert len(shared) > 20
    for name, places in shared.items():
        for command, each in places.items():
            if (command, name) in EXCEPTIONS:
                continue
            word = WORDS[name]
            assert each.help.startswith(word.help.rstrip(".")), (command, name)
            assert each.metavar in (word.metavar, "LIST" if word.metavar else None), (command, name)
            assert each.is_flag == (word.metavar is None), (command, name)
            assert each.multiple == (name == "--set"), (command, name)


def test_exceptions_and_words_are_needed():
    found = options()
    assert all(command in found[name] for command, name in EXCEPTIONS)
    assert all(len(found[name]) > 1 for name in WORDS)


def test_every_option_is_explained():
    for name, command in commands():
        for each in command.params:
            if each.name != "help":
                assert each.help and each.help.endswith("."), (name, each.name)


SHELLS = {
    "bash": """source share/completions/sobor.bash
        COMP_LINE=$1 COMP_POINT=${#1}; read -ra COMP_WORDS <<<"$1 "
        [[ $1 != *" " ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _command_offset() { COMPREPLY=("offset $1"); }
        _sobor ./sobor 2>/dev/null; printf '%s\n' "${COMPREPLY[@]}" """,
    "zsh": """_arguments() { print -r -- "$@" } ; words=("${(@s. .)1/#sobor/./sobor}")
        CURRENT=$#words; source share/completions/_sobor""",
    "fish": """function sobor; ./sobor $argv; end; source share/completions/sobor.fish
        complete -C $argv[1]""",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_complete(shell, real_native):
    """Each installed script, by the shell that it is for."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")

    def complete(line):
        first = [] if shell == "fish" else [shell]
        done = subprocess.run(
            [shell, "-c", SHELLS[shell], *first, line],
            cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        return done.stdout

    assert "simulate" in complete("sobor sim")
    assert "--collective" in complete("sobor info --coll")
    assert "epyc9654-2s" in complete("sobor simulate bcast --machine epyc")
    if shell != "bash":
        return
    assert complete("sobor bench bcast,allr") == "bcast,allreduce\n"
    assert complete("sobor run --set VERB") == "VERBOSE=\n"
    # bash has what stands before = already.
    assert {"flat", "chain"} <= set(complete("sobor run --set BCAST_TREE=").split())
    assert complete("sobor run -- mpirun -n") == "offset 3\n"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["info", "--collective", "all"], ["allgather", "allgatherv", "allreduce"]),
        (["bench", "--algorithms", "bcast:ring,barrier:fl"], ["bcast:ring,barrier:flat"]),
        (["simulate", "barrier", "--algorithm", "dissem"], ["dissemination"]),
        (["study", "bar"], ["barrier"]),
        (["run", "--set", "VERB"], ["VERBOSE="]),
        (["run", "--set", "SOBOR_VERB"], ["SOBOR_VERBOSE="]),
        (["run", "--set", "SOBOR=o"], ["SOBOR=on", "SOBOR=off"]),
    ],
)
def test_names_are_completed(words, found, real_native, monkeypatch, command):
    monkeypatch.setenv("_SOBOR_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(["sobor", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    out = command().out.split()
    assert [word for word in out if word in found] == found
    assert all(word.startswith(words[-1]) for word in out)


def test_completion_is_silent_without_native_parts(command, monkeypatch, tmp_path):
    monkeypatch.setenv("SOBOR_PREFIX", str(tmp_path))
    monkeypatch.setenv("_SOBOR_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "sobor info --collective b")
    monkeypatch.setenv("COMP_CWORD", "3")
    result = command()
    assert (result.out.strip(), result.err) == ("", "")


@pytest.mark.parametrize(
    ("words", "option", "found"),
    [
        ("bench --rounds 0", "--rounds", "0"),
        ("bench --seconds soon", "--seconds", "soon"),
        ("bench --timeout inf", "--timeout", "inf"),
        ("bench --seconds nan", "--seconds", "nan"),
        ("estimate x.json --seconds nan", "--seconds", "nan"),
        ("platform --seconds nan -- mpirun", "--seconds", "nan"),
        ("platform --timeout inf -- mpirun", "--timeout", "inf"),
        ("simulate --calibrate x.json --seconds nan", "--seconds", "nan"),
        ("model efficiency --calls barrier:0x1 --operations inf", "--operations", "inf"),
        ("model efficiency --calls barrier:0x1 --flops nan", "--flops", "nan"),
        ("model allgather --element -7", "--element", "-7"),
    ],
)
def test_a_wrong_value_is_named(words, option, found):
    answer = CliRunner().invoke(app, words.split(), env={"COLUMNS": "300"})
    assert answer.exit_code == 2
    assert option in answer.output and found in answer.output.split(option)[1], answer.output


def test_a_whole_number_of_hundreds_of_digits_is_one():
    assert finite(10**400) == 10**400
