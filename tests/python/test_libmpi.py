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


@pytest.fixture
def of_srun(make_launcher, launcher_folder, monkeypatch):
    """The library for srun, where PATH has nothing but the folder of launchers."""
    make_launcher("srun", "slurm")
    monkeypatch.setenv("PATH", str(launcher_folder))

    def find(*folders):
        path = {"LD_LIBRARY_PATH": ":".join(map(str, folders)), "PATH": str(launcher_folder)}
        return libmpi.library_of(recognise("srun"), path)

    return find


def make_libraries(folder, *names):
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).touch()
    return folder


def test_srun_takes_the_library_beside_a_launcher(of_srun, make_launcher, launcher_folder):
    assert of_srun() is None
    make_launcher("mpiexec", "mpich")
    path = make_libraries(launcher_folder.parent / "lib", "libmpi.so.12") / "libmpi.so.12"
    assert of_srun() == libmpi.Library("mpich12", path)


def test_srun_takes_the_library_of_the_search_path(of_srun, tmp_path):
    """As with Cray's MPICH; of what stands beside it nothing is another MPI."""
    others = ("libmpi_cray.so.12.0.0", "libmpifort_cray.so.12", "libmpi_abi.so.1")
    folder = make_libraries(tmp_path / "cray", "libmpi_cray.so.12", *others)
    assert of_srun("/nowhere", folder) == libmpi.Library("mpich12", folder / "libmpi_cray.so.12")


def test_srun_takes_the_library_of_the_system(of_srun, monkeypatch, tmp_path):
    folder = make_libraries(tmp_path / "system", "libmpi.so.40", "libmpi_mpifh.so.40")
    system = {path.name: path for path in folder.iterdir()}
    monkeypatch.setattr(libmpi, "system_libraries", lambda: system)
    assert of_srun() == libmpi.Library("ompi40", folder / "libmpi.so.40")
    # What is loaded on top of it counts first.
    loaded = make_libraries(tmp_path / "loaded", "libmpi.so.12")
    assert of_srun(loaded).path == loaded / "libmpi.so.12"


def test_srun_takes_none_of_several(of_srun, tmp_path):
    folder = make_libraries(tmp_path / "both", "libmpi.so.12", "libmpi.so.40")
    with pytest.raises(SoborError, match=r"several MPI libraries: .*so.12, .*so.40") as error:
        of_srun(folder)
    assert "--libmpi" in error.value.remedy


def test_library_that_the_user_names(tmp_path):
    real = tmp_path / "libmpi.so.40.30.4"
    real.touch()
    (tmp_path / "libmpi.so").symlink_to(real)
    assert libmpi.library_at(str(tmp_path / "libmpi.so")).abi == "ompi40"
    cray = tmp_path / "libmpi_cray.so.12"
    cray.touch()
    assert libmpi.library_at(str(cray)).abi == "mpich12"
    with pytest.raises(SoborError, match="no such file"):
        libmpi.library_at("/no/libmpi.so.40")
    with pytest.raises(SoborError, match=f"expected a library, found the folder {tmp_path}"):
        libmpi.library_at(str(tmp_path))
    other = tmp_path / "libc.so.6"
    other.touch()
    with pytest.raises(SoborError, match=r"expected one of libmpi.so.40.*found libc.so.6"):
        libmpi.library_at(str(other))
