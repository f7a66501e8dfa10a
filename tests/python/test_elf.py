# SPDX-License-Identifier: BSD-3-Clause
"""Programs that a preload cannot reach."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sobor.elf import preload_obstacle

PROGRAM = "int main(void) { return 0; }\n"
OWN_MPI = "int MPI_Init(int *c, char ***v) { return !c + !v; }\n" + PROGRAM
FOREIGN_MPI = "int MPI_Init(int *, char ***);\nint main(void) { return MPI_Init(0, 0); }\n"

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def compile_c(tmp_path, text, *options):
    source, program = tmp_path / "p.c", tmp_path / "p"
    source.write_text(text)
    subprocess.run(["cc", str(source), "-o", str(program), *options], check=True)
    return str(program)


@needs_compiler
def test_ordinary_program(tmp_path):
    assert preload_obstacle(compile_c(tmp_path, PROGRAM)) is None


@needs_compiler
def test_static_program(tmp_path):
    assert "linked statically" in preload_obstacle(compile_c(tmp_path, PROGRAM, "-static"))


@needs_compiler
@pytest.mark.parametrize("options", [(), ("-rdynamic", "-s")])
def test_mpi_linked_in(tmp_path, options):
    assert "link it against the shared libmpi" in preload_obstacle(
        compile_c(tmp_path, OWN_MPI, *options)
    )


@needs_compiler
def test_mpi_of_a_library(tmp_path):
    source, library = tmp_path / "mpi.c", tmp_path / "libmpi.so"
    source.write_text("int MPI_Init(int *c, char ***v) { return !c + !v; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    assert preload_obstacle(compile_c(tmp_path, FOREIGN_MPI, str(library))) is None


@needs_compiler
@pytest.mark.parametrize("place", [4, 18], ids=["32 bits", "another processor"])
def test_program_of_another_kind(tmp_path, place):
    program = compile_c(tmp_path, PROGRAM)
    preload = tmp_path / "libsobor.so"
    content = bytearray(Path(program).read_bytes())
    preload.write_bytes(content)
    assert preload_obstacle(program, str(preload)) is None
    content[place] ^= 3
    Path(program).write_bytes(content)
    assert "another kind of processor" in preload_obstacle(program, str(preload))
    assert preload_obstacle(program, str(tmp_path / "none")) is None


def test_set_user_id(tmp_path):
    program = tmp_path / "p"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o4755)
    assert "set-user-id" in preload_obstacle(str(program))


@pytest.mark.parametrize(
    "content", [b"", b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 90]
)
def test_what_is_no_program_is_no_obstacle(tmp_path, content):
    program = tmp_path / "p"
    program.write_bytes(content)
    program.chmod(0o755)
    preload_obstacle(str(program))


def test_missing_program():
    assert preload_obstacle("/no/such/program") is None
