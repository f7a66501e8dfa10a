# SPDX-License-Identifier: BSD-3-Clause
"""The recipes for others' installers: what they name is there."""

import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

from conftest import ROOT, write_program

SPACK = ROOT / "packaging/spack/packages/sobor/package.py"


class Said(list):
    """Stands in for the commands of Spack, and notes what is said to them."""

    def command(self, name):
        return lambda *words, **more: self.append((name, *words, more))


@pytest.fixture
def recipe(monkeypatch):
    """The class of the recipe, and what it said."""
    said = Said()
    package = types.ModuleType("spack.package")
    for name in ("license", "version", "variant", "depends_on", "conflicts"):
        setattr(package, name, said.command(name))
    package.run_after = lambda *_, **__: lambda method: method
    package.join_path = lambda *parts: "/".join(map(str, parts))
    package.CMakePackage = type(
        "CMakePackage", (), {"define": lambda _, name, value: (name, value)}
    )
    monkeypatch.setitem(sys.modules, "spack", types.ModuleType("spack"))
    monkeypatch.setitem(sys.modules, "spack.package", package)
    names = {"__file__": str(SPACK)}
    exec(compile(SPACK.read_text(), SPACK, "exec"), names)
    return names["Sobor"], said


@pytest.mark.parametrize(("mpi", "header"), [("openmpi", "OMPI"), ("mpich", "MPICH")])
def test_spack(recipe, mpi, header):
    sobor, said = recipe
    assert Path(sobor.git.removeprefix("file://")) == ROOT
    cmake = "\n".join(path.read_text() for path in (ROOT / "cmake").glob("*.cmake"))
    cmake += (ROOT / "CMakeLists.txt").read_text()
    # As of Intel MPI, which has them below mpi/latest.
    headers = types.SimpleNamespace(directories=["/mpi/include"])
    package = sobor()
    package.spec = {"mpi": types.SimpleNamespace(headers=headers, name=mpi)}
    package.prefix = types.SimpleNamespace(lib="/opt/sobor/lib")
    given = dict(package.cmake_args())
    assert given.pop(f"SOBOR_{header}_INCLUDE") == "/mpi/include"
    # One back end: of the system's MPIs there may be more.
    headers = [value for name, value in given.items() if name.endswith("_INCLUDE")]
    assert headers == [False, False]
    assert all(re.search(rf"\b{name}\b", cmake) for name in given), given
    # The same versions that the build and the command ask for.
    asked = {words[1] for words in said if words[0] == "depends_on"}
    needs = (ROOT / "pyproject.toml").read_text() + cmake
    for name, version in (word.rstrip(":").split("@") for word in asked if "@" in word):
        written = rf"{name.removeprefix('py-')}(_minimum_required\(VERSION |>=| *= *\">=){version}"
        assert re.search(written, needs, re.IGNORECASE), (name, version)


def test_spack_command_has_its_packages(recipe, tmp_path):
    """They are in prefixes of their own, and PYTHONPATH is not looked at."""
    sobor, _ = recipe
    installed = tmp_path / "sobor"
    (installed / "bin").mkdir(parents=True)
    shutil.copy(ROOT / "scripts/sobor-installed.sh", installed / "bin/sobor")
    (installed / "lib/sobor/python").mkdir(parents=True)
    (installed / "lib/sobor/python/sobor").write_text("import typer\nprint(typer.__file__)\n")
    package = tmp_path / "py-typer/lib/python3.99/site-packages/typer.py"
    package.parent.mkdir(parents=True)
    package.touch()
    others = tmp_path / "openmpi/lib/python3.99/site-packages"
    others.mkdir(parents=True)

    class Spec(dict):
        def traverse(self, root, deptype):
            assert (root, deptype) == (False, "run")
            names = ("py-typer", "openmpi")
            return [types.SimpleNamespace(name=name, prefix=tmp_path / name) for name in names]

    def python(*words):
        subprocess.run([sys.executable, *words], check=True)

    made = sobor()
    made.spec = Spec(python=types.SimpleNamespace(command=python))
    made.prefix = types.SimpleNamespace(lib=str(installed / "lib"))
    made.make_python_environment()
    variables = []
    made.setup_run_environment(types.SimpleNamespace(set=lambda name, _: variables.append(name)))
    assert variables == ["SOBOR_PRELOAD"]
    answer = subprocess.run(
        [installed / "bin/sobor"], env={"PATH": os.environ["PATH"]},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert answer.stdout == f"{package}\n", answer.stderr


#: Makes an environment in which it is Python itself, and notes what is asked of it there.
PYTHON = """#!/bin/sh
case "$1 $2" in
"-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
"-m pip" | "-m compileall") echo "$*" >"${0%/bin/python}/$2" ;;
esac
"""


def test_environment_of_an_installation_is_for_all_users(tmp_path):
    """Whatever the umask of who installs; what only that one may write is compiled at once."""
    python = write_program(tmp_path / "python3", PYTHON)
    folder = tmp_path / "lib/sobor/venv"
    folder.parent.mkdir(parents=True)
    done = subprocess.run(
        [ROOT / "scripts/install_command.sh", folder],
        env={**os.environ, "SOBOR_PYTHON": str(python)},
        capture_output=True, text=True, check=False, umask=0o077,
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == ""
    assert folder.stat().st_mode & 0o777 == 0o755
    assert (folder / "pip").stat().st_mode & 0o777 == 0o644
    assert (folder / "compileall").read_text() == f"-m compileall -q {folder.parent}/python\n"


@pytest.mark.parametrize(
    ("variable", "words"), [("/none", "SOBOR_PYTHON: expected"), ("", "expect")]
)
def test_installed_command_without_python(tmp_path, variable, words):
    command = tmp_path / "bin" / "sobor"
    command.parent.mkdir()
    shutil.copy(ROOT / "scripts/sobor-installed.sh", command)
    for name in ("sh", "dirname", "readlink"):
        (tmp_path / name).symlink_to(shutil.which(name))
    answer = subprocess.run(
        [command], env={"PATH": str(tmp_path), "SOBOR_PYTHON": variable},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert answer.returncode == 2
    found = variable or "python3"
    assert answer.stderr.startswith(f"sobor: {words}")
    assert answer.stderr.endswith(f"Python 3.10 or later, found no program {found}\n")


@pytest.mark.parametrize("path", ["containers/Dockerfile", "containers/sobor.def"])
def test_options_of_containers_exist(path):
    text = (ROOT / path).read_text()
    options = (ROOT / "CMakeLists.txt").read_text()
    assert "cpack -G DEB" in text
    assert all(f"option({name} " in options for name in re.findall(r"-D(SOBOR_\w+)", text))


def test_images_are_made_of_the_source_alone():
    """What a checkout has besides may be gigabytes, and goes to who builds the image."""
    made = (ROOT / ".gitignore").read_text().split()
    left_out = set((ROOT / ".dockerignore").read_text().splitlines())
    assert {word.strip("/") for word in made if word.startswith("/")} | {".git"} <= left_out


def test_no_placeholders():
    for folder in ("packaging", "containers", "docs"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file():
                assert "example.org" not in path.read_text(errors="replace"), path
