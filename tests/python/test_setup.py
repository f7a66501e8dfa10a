# SPDX-License-Identifier: BSD-3-Clause
"""scripts/setup.sh and its relatives, in a checkout and on a system that are made up."""

import re
import shutil
import subprocess

import pytest

from conftest import ROOT, write_program

TOOLS = "awk bash cat comm dirname env ln mkdir printf rm sed sh sort touch tr uname".split()
#: Python with a pip that knows neither --python nor --root-user-action until a later one is there.
PYTHON = """#!/bin/bash
folder=$(dirname "$0")
case "$1 $2" in
"-V "*) echo "Python 3.10.12" ;;
"-c "*"import pip"*) [ -e .venv/later ] ;;
"-m venv") mkdir -p "${@: -1}/bin" && ln -s "$0" "${@: -1}/bin/python" ;;
"-m ensurepip") touch .venv/bin/pip ;;
"-m pip")
    echo "pip ${*:3}${PYTHONPATH:+ beside $PYTHONPATH}" >>"$LOG"
    [ -e .venv/later ] || case "$*" in
    *--python* | *--root-user-action*) echo "no such option" >&2; exit 2 ;;
    esac
    case "$*" in *"pip>=22.3") touch .venv/later ;; esac ;;
*list_requirements*) echo typer ;;
esac
"""
#: Installs nothing where it does not know all.
APT = """#!/bin/bash
echo "apt-get $*" >>"$LOG"
case "$* " in install*" chromium-headless-shell "*) exit 100 ;; esac
"""


DPKG = """#!/bin/bash
while read -r name status; do
    case " $* " in *" $name "*) echo "$name $status" ;; esac
done <"${0%/*}/installed"
"""


@pytest.fixture
def system(tmp_path):
    """A checkout, and a system with what builds need; runs a script of it."""
    checkout, bin_folder = tmp_path / "checkout", tmp_path / "bin"
    shutil.copytree(ROOT / "scripts", checkout / "scripts")
    bin_folder.mkdir()
    for name in TOOLS:
        (bin_folder / name).symlink_to(shutil.which(name))
    for name in ("cmake", "ninja", "gcc", "pkg-config"):
        write_program(bin_folder / name, "#!/bin/sh\n")
    python = write_program(tmp_path / "python" / "python3", PYTHON)
    log = tmp_path / "log"

    def run(script, *words, **variables):
        log.write_text("")
        answer = subprocess.run(
            [checkout / "scripts" / script, *words],
            env={"PATH": str(bin_folder), "SOBOR_PYTHON": str(python), "LOG": str(log)} | variables,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        answer.log = log.read_text().splitlines()
        return answer

    run.checkout, run.bin = checkout, bin_folder
    return run


def make_debian(system, user, *installed):
    """The same as Debian has it, where such packages are installed."""
    (system.bin / "installed").write_text("".join(f"{name} installed\n" for name in installed))
    write_program(system.bin / "id", f"#!/bin/sh\necho {user}\n")
    write_program(system.bin / "sudo", "#!/bin/sh\nexit 1\n")
    write_program(system.bin / "apt-get", APT)
    write_program(system.bin / "dpkg-query", DPKG)


def packages():
    """Those that the script names."""
    text = (ROOT / "scripts" / "setup.sh").read_text()
    lists = text.replace("WANTED+=(", "WANTED=(").split("=(")[1:]
    words = {word for part in lists for word in part.split(")")[0].split()}
    return {word for word in words if re.fullmatch(r"[a-z][a-z0-9+-]+", word)}


def test_a_pip_that_installs_into_no_other_environment(system):
    answer = system("setup.sh", "--tests")
    assert answer.returncode == 0, answer.stderr
    assert not list(system.checkout.glob(".peers/*.failed"))
    assert (system.checkout / ".peers/mpich5/.complete").exists()
    assert sum(line.endswith("pip>=22.3") for line in answer.log) == 1


@pytest.mark.parametrize("words", [["setup.sh", "--tests"], ["install_command.sh", "FOLDER"]])
def test_packages_elsewhere_are_not_taken_for_installed(system, tmp_path, words):
    """Modules of a cluster set PYTHONPATH, at which pip looks and the command does not."""
    given = [word.replace("FOLDER", str(tmp_path / "venv")) for word in words]
    answer = system(*given, PYTHONPATH="/module/site-packages")
    assert answer.returncode == 0, answer.stderr
    assert answer.log and not [line for line in answer.log if "beside" in line]


def test_a_pip_that_knows_no_action_of_root(system, tmp_path):
    answer = system("vendor_packages.sh", tmp_path / "folder")
    assert answer.returncode == 0, answer.stderr
    assert answer.log[-1].endswith("typer")


def test_no_packages_of_debian_are_needed_where_all_is_there(system):
    """As modules of a cluster have it, for those who are not root."""
    make_debian(system, 1000)
    answer = system("setup.sh")
    assert answer.returncode == 0, answer.stderr
    (system.bin / "ninja").unlink()
    answer = system("setup.sh")
    assert answer.returncode == 1
    assert "missing commands: ninja; run: sudo apt-get install" in answer.stderr
    assert not answer.log


def test_a_build_needs_no_launcher(system):
    assert system("setup.sh").returncode == 0
    assert "missing commands: mpirun; " in system("setup.sh", "--demo").stderr
    write_program(system.bin / "pkg-config", "#!/bin/sh\nexit 1\n")
    assert "hwloc 2.1, jansson 2.13" in system("setup.sh").stderr


def test_one_package_that_there_is_not_keeps_no_other_away(system):
    others = packages() - {"chromium-headless-shell", "zsh", "fish"}
    make_debian(system, 0, *others, "hwloc", "busybox", "libtcmalloc-minimal4")
    answer = system("setup.sh", "--tests", SOBOR_TEST_LONG="1")
    assert answer.returncode == 0, answer.stderr
    tried = [line.split("recommends ")[-1] for line in answer.log if "apt-get install" in line]
    assert tried == ["chromium-headless-shell fish zsh", "chromium-headless-shell", "fish", "zsh"]
    assert "could not install: chromium-headless-shell; some" in answer.stderr


def test_a_package_that_has_another_name(system):
    """With the first one apt-get would be asked by each make test."""
    installed = packages() - {"libtcmalloc-minimal4"}
    make_debian(system, 0, *installed, "hwloc-nox", "busybox-static", "libtcmalloc-minimal4t64")
    answer = system("setup.sh", "--tests")
    assert answer.returncode == 0, answer.stderr
    assert not [line for line in answer.log if line.startswith("apt-get")]
