# SPDX-License-Identifier: BSD-3-Clause
"""Which MPI library belongs to a launcher."""

import pytest

from sobor import libmpi
from sobor.errors import SoborError
from sobor.launchers import recognise

CACHE = """12 libs found in cache `/etc/ld.so.cache'
\tlibmpich.so.12 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libmpich.so.12
\tlibmpi.so.40 (libc6) => /usr/lib32/libmpi.so.40
\tlibmpi.so.40 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libmpi.so.40
"""


@pytest.fixture(autouse=True)
def no_system_libraries(monkeypatch):
    monkeypatch.setattr(libmpi, "system_libraries", dict)


def test_cache_of_the_dynamic_linker():
    found = {name: str(path) for name, path in libmpi.parse_cache(CACHE).items()}
    assert found == {
        "libmpich.so.12": "/usr/lib/x86_64-linux-gnu/libmpich.so.12",
        "libmpi.so.40": "/usr/lib/x86_64-linux-gnu/libmpi.so.40",
    }


@pytest.mark.parametrize(
    ("banner", "file", "abi"),
    [
        ("openmpi5", "lib/libmpi.so.40", "ompi40"),
        ("openmpi4", "lib/x86_64-linux-gnu/libmpi.so.40", "ompi40"),
        ("mpich", "lib/libmpi.so.12", "mpich12"),
        ("mpich", "lib64/libmpich.so.12", "mpich12"),
        ("intel", "lib/release/libmpi.so.12", "mpich12"),
        ("mpich", "lib/libmpi_abi.so.1", "mpiabi1"),
    ],
)
def test_library_beside_the_launcher(make_launcher, launcher_folder, banner, file, abi):
    make_launcher("mpirun", banner)
    path = launcher_folder.parent / file
    path.parent.mkdir(parents=True)
    path.touch()
    assert libmpi.library_of(recognise("mpirun")) == libmpi.Library(abi, path)


def test_library_of_another_mpi_is_not_taken(make_launcher, launcher_folder):
    make_launcher("mpirun", "mpich")
    (launcher_folder.parent / "lib").mkdir()
    (launcher_folder.parent / "lib" / "libmpi.so.40").touch()
    assert libmpi.library_of(recognise("mpirun"), {}) is None


def test_search_path(make_launcher, tmp_path):
    make_launcher("mpirun", "openmpi4")
    (tmp_path / "libmpi.so.40").touch()
    found = libmpi.library_of(recognise("mpirun"), {"LD_LIBRARY_PATH": f"/nowhere:{tmp_path}"})
    assert found.path == tmp_path / "libmpi.so.40"


def test_library_that_the_user_names(tmp_path):
    real = tmp_path / "libmpi.so.40.30.4"
    real.touch()
    (tmp_path / "libmpi.so").symlink_to(real)
    assert libmpi.library_at(str(tmp_path / "libmpi.so")).abi == "ompi40"
    with pytest.raises(SoborError, match="no such file"):
        libmpi.library_at("/no/libmpi.so.40")
    other = tmp_path / "libc.so.6"
    other.touch()
    with pytest.raises(SoborError, match=r"expected one of libmpi.so.40.*found libc.so.6"):
        libmpi.library_at(str(other))
