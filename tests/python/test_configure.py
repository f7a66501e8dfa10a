# SPDX-License-Identifier: BSD-3-Clause
"""What CMake makes of systems where headers and libraries are in folders of their own."""

import os
import re
import shutil
import subprocess

import pytest

from conftest import ROOT, write_program

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("cmake", "ninja"))), reason="needs cmake and ninja"
)


def cmake(*words, **more):
    return subprocess.run(["cmake", *words], capture_output=True, text=True, check=False, **more)


def write_header(folder, *macros):
    folder.mkdir(parents=True)
    for name in ("mpi.h", "mpi_abi.h") if "MPI_ABI_VERSION" in macros else ("mpi.h",):
        text = "".join(f'#define {macro} "4.1"\n' for macro in macros)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def found(tmp_path):
    """The folders of headers that are found, by ABI, on a system that has none of its own."""

    def look(*compilers, **variables):
        for name, folder in compilers:
            write_program(tmp_path / "bin" / name, f"#!/bin/sh\necho 'gcc -I\"{folder}\" -lmpi'\n")
        environ = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", **variables}
        # As a script it knows no folders of Debian's.
        answer = cmake("-P", ROOT / "cmake/FindMPIHeaders.cmake", cwd=tmp_path, env=environ)
        assert answer.returncode == 0, answer.stderr
        lines = re.findall(r"Back end (\w+): (/\S+)", answer.stdout)
        return {abi: folder for abi, folder in lines if folder.startswith(str(tmp_path))}

    return look


def test_headers_of_the_compilers_in_path(found, tmp_path):
    ompi = write_header(tmp_path / "one", "OMPI_MAJOR_VERSION")
    mpich = write_header(tmp_path / "two", "MPICH_VERSION", "MPI_ABI_VERSION")
    assert found(("mpicc", ompi), ("mpicc.mpich", mpich)) == {
        "ompi40": str(ompi),
        "mpich12": str(mpich),
        "mpiabi1": str(mpich),
    }


def test_headers_that_variables_name(found, tmp_path):
    mine = write_header(tmp_path / "mine", "MPICH_VERSION")
    other = write_header(tmp_path / "other" / "include", "MPICH_VERSION")
    assert found(MPICH_DIR=str(other.parent))["mpich12"] == str(other)
    both = found(MPICH_DIR=str(other.parent), SOBOR_MPICH_INCLUDE=str(mine))
    assert both["mpich12"] == str(mine)


def test_libraries_of_a_prefix_are_found_once_installed(tmp_path):
    """A module's jansson: what is linked with it names its folder; nothing else names any."""
    ask = ["pkg-config", "--variable=libdir", "jansson"]
    asked = subprocess.run(ask, capture_output=True, text=True, check=False)
    system = os.path.join(asked.stdout.strip(), "libjansson.so")
    if asked.returncode != 0 or not os.path.exists(system):
        pytest.skip("no jansson")
    lib = tmp_path / "module" / "lib"
    (lib / "pkgconfig").mkdir(parents=True)
    shutil.copy(os.path.realpath(system), lib / "libjansson.so")
    (lib / "pkgconfig" / "jansson.pc").write_text(
        f"Name: jansson\nDescription: x\nVersion: 2.14\nLibs: -L{lib} -ljansson\nCflags:\n"
    )
    answer = cmake(
        *("-S", ROOT, "-B", tmp_path / "build", "-G", "Ninja", "-DSOBOR_BUILD_TESTS=OFF"),
        env={**os.environ, "PKG_CONFIG_PATH": str(lib / "pkgconfig")},
    )
    assert answer.returncode == 0, answer.stderr
    text = (tmp_path / "build/src/cmake_install.cmake").read_text()
    paths = dict(
        re.findall(
            r'lib(?:exec)?/sobor/([\w.-]+)"\n *OLD_RPATH "[^"]*"\n *NEW_RPATH "([^"]*)', text
        )
    )
    assert paths["sobor-query"] == str(lib)
    assert set(paths.values()) == {str(lib)}
    assert any(name.startswith("sobor-") and name.endswith(".so") for name in paths)
    assert not any(name.startswith("libsobor") for name in paths)


def test_another_c_library_is_told(tmp_path):
    """As of musl, whose headers say nothing of themselves."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "features.h").touch()
    answer = cmake(
        *("-S", ROOT, "-B", tmp_path / "build", "-G", "Ninja"),
        env={**os.environ, "CFLAGS": f"-nostdinc -isystem {tmp_path}/include"},
    )
    assert answer.returncode != 0
    assert "Sobor is for the GNU C library" in answer.stderr


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        # As of a compiler for it: nothing else tells processors apart.
        ("-U__x86_64__ -U__aarch64__", "riscv64"),
        ("-m32", "i686"),
    ],
    ids=["another", "32-bits"],
)
def test_another_processor_is_told(tmp_path, flags, name):
    """In a few words, and where another would begin; not by what fails to compile."""
    (tmp_path / "none.c").touch()
    accepted = subprocess.run(
        ["cc", *flags.split(), "-c", "none.c"], cwd=tmp_path, capture_output=True, check=False
    )
    if accepted.returncode != 0:
        pytest.skip(f"no compiler takes {flags}")
    answer = cmake(
        *("-S", ROOT, "-B", tmp_path / "build", "-G", "Ninja"),
        # Another system: CMake takes the processor's name as it is given, and links nothing.
        *("-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={name}"),
        "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY",
        env={**os.environ, "CFLAGS": flags},
    )
    assert answer.returncode != 0
    said = " ".join(answer.stderr.split())
    assert "Sobor is for Linux on x86-64 and AArch64; " in said
    assert f" makes programs for Linux on {name}. src/stub/trampolines.S and" in said
    assert answer.stderr.count("CMake Error") == 1
    for place in re.findall(r"src/\S+\.[cS]\b", said):
        assert (ROOT / place).is_file()
