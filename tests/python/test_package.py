# SPDX-License-Identifier: BSD-3-Clause
"""The Debian package: installs, runs and goes, over an overlay of this system."""

import contextlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("cpack", "dpkg-deb", "unshare", "gcc"))),
    reason="needs root, cpack, dpkg and unshare",
)
PROGRAM = """
#include <sobor/sobor.h>
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    puts(dlsym(RTLD_DEFAULT, "sobor_last_algorithm") != NULL ? "here" : "not here");
}
"""
CMAKE = """
cmake_minimum_required(VERSION 3.21)
project(user C)
find_package(sobor 0.1 REQUIRED)
add_executable(user /tmp/u/user.c)
target_link_libraries(user sobor::sobor)
"""
#: cpack asks of each of 800 files what it is, by "cmake -E env LC_ALL=C file PATH", for programs
#: and libraries: the starts alone take much of its time. What Python's sources are is known.
ENV_ALONE = """#!/bin/sh
case "$1 $2 $5" in
"-E env "*.py) echo "$5: Python script, ASCII text"; exit ;;
"-E env "*) shift 2; exec env "$@" ;;
esac
exec cmake "$@"
"""
#: All of it happens on an overlay of this system, in a mount namespace of its own. The index of all
#: manual pages is not made anew there: that takes longer than all the rest. Nor is what is
#: removed again at once compiled by Python.
INSIDE = """
set -e
mkdir $T/upper $T/work $T/root
mount -t overlay overlay -o lowerdir=/,upperdir=$T/upper,workdir=$T/work $T/root
mount --rbind /proc $T/root/proc
mount --rbind /dev $T/root/dev
mount -t tmpfs tmpfs $T/root/tmp
mkdir $T/root/tmp/u
cp $T/*.deb $T/user.c $T/CMakeLists.txt $T/root/tmp/u
rm -f $T/root/var/lib/man-db/auto-update
chroot $T/root /bin/sh -e -c '
cd /tmp/u
dpkg -i *.deb >/dev/null
mkdir old
printf "#!/bin/sh\nexit 1\n" >old/python3
chmod +x old/python3
PATH=/tmp/u/old:$PATH sobor --version
sobor run --print -- env
sobor info --json >info.json
sobor doctor --short || true
gcc user.c $(pkg-config --cflags sobor) -o user -ldl
./user
LD_PRELOAD=$(pkg-config --variable=preload sobor) ./user
cmake -S . -B b >/dev/null && cmake --build b >/dev/null && ./b/user
du -sm /usr/lib/sobor | cut -f1
dpkg -r sobor >/dev/null
ls -d /usr/lib/sobor /usr/bin/sobor 2>/dev/null || echo gone
PATH=/tmp/u/old:$PATH dpkg -i *.deb >/dev/null
rm -r /usr/lib/sobor
dpkg -r sobor >/dev/null
ls -d /usr/bin/sobor 2>/dev/null || echo gone too
'
"""


@pytest.fixture(scope="module")
def build():
    """The folder of this build."""
    return os.environ.get("NATIVE_TEST_PREFIX", str(ROOT / "build" / "release"))


@contextlib.contextmanager
def list_kept(build):
    """What is installed or packed is listed in the build's folder: users remove it by that."""
    path = Path(build, "install_manifest.txt")
    before = path.read_bytes() if path.exists() else None
    try:
        yield
    finally:
        if before is not None:
            path.write_bytes(before)
        else:
            path.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def package(build, tmp_path_factory):
    """The package of this build."""
    if not os.path.exists(f"{build}/CPackConfig.cmake"):
        pytest.skip("no build folder")
    folder = tmp_path_factory.mktemp("package")
    starter = folder / "cmake"
    starter.write_text(ENV_ALONE)
    starter.chmod(0o755)
    command = [
        "cpack",
        "-G",
        "DEB",
        "-B",
        str(folder),
        "-D",
        "CPACK_DEBIAN_COMPRESSION_TYPE=none",
        "-D",
        f"CMAKE_COMMAND={starter}",
        "--config",
        f"{build}/CPackConfig.cmake",
    ]
    # As hardened systems have it for root: the package is for all users.
    with list_kept(build):
        made = subprocess.run(
            command, cwd=build, capture_output=True, text=True, timeout=200, check=False,
            umask=0o077,
        )  # fmt: skip
    said = made.stdout + made.stderr
    if made.returncode != 0 and "No matching distribution" in said:
        pytest.skip("the command's Python packages cannot be fetched")
    assert made.returncode == 0, said
    (file,) = folder.glob("*.deb")
    return file


def test_what_is_in_it(package):
    """Libraries, command, header, modules; nothing of a build, nothing compiled by Python."""
    listed = subprocess.run(
        ["dpkg-deb", "-c", package], capture_output=True, text=True, check=True
    ).stdout
    for name in (
        "./usr/bin/sobor",
        "./usr/lib/sobor/libsobor.so",
        "./usr/lib/sobor/libsobor-profile.so",
        "./usr/include/sobor/sobor.h",
        "./usr/lib/pkgconfig/sobor.pc",
        "./usr/lib/cmake/sobor/soborConfig.cmake",
        "./usr/lib/sobor/python/sobor/profile/page.html",
        "./usr/share/man/man1/sobor-run.1",
        "./usr/share/bash-completion/completions/sobor",
        "./usr/share/zsh/vendor-completions/_sobor",
        "./usr/share/fish/vendor_completions.d/sobor.fish",
    ):
        assert name in listed
    assert re.search(r"share/sobor/modulefiles/sobor/[\d.]+\n", listed)
    assert all(re.match(r"([d-]rw[x-]r-[x-]r-[x-]|l)", line) for line in listed.splitlines()), (
        listed
    )
    assert "__pycache__" not in listed and "matplotlib" not in listed
    assert not re.search(r"\./(?!usr/)\w", listed)


def test_an_installation_is_for_all_users(build, package, tmp_path):
    """Whatever the umask; the package's build has made what is installed."""
    with list_kept(build):
        done = subprocess.run(
            ["cmake", "--install", build], env={**os.environ, "DESTDIR": str(tmp_path)},
            capture_output=True, text=True, timeout=60, check=False, umask=0o077,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = [path for path in tmp_path.rglob("*") if not path.is_symlink()]
    assert len(made) > 100
    assert not [path for path in made if path.stat().st_mode & 0o055 not in (0o055, 0o044)]
    assert not [path for path in made if path.is_dir() and path.stat().st_mode & 0o055 != 0o055]


def test_installs_runs_and_goes(package, tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    mounted = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "t", folder], check=False)
    if mounted.returncode != 0:
        pytest.skip("no mount namespace")
    (folder / "user.c").write_text(PROGRAM)
    (folder / "CMakeLists.txt").write_text(CMAKE)
    shutil.copy(package, folder)
    # Its writable layers cannot lie on an overlay: they are in memory.
    script = f"mkdir {folder}/m; mount -t tmpfs t {folder}/m; cp {folder}/*.* {folder}/m; " + INSIDE
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        env={**os.environ, "T": f"{folder}/m", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if "overlay" in done.stderr and "mount" in done.stderr:
        pytest.skip("no overlay on this system")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("sobor 0.") and "LD_PRELOAD=/usr/" in lines[1]
    assert "Sobor will work with" in done.stdout
    here = [line for line in lines if line in ("here", "not here")]
    assert here == ["not here", "here", "not here"]
    assert lines[-2:] == ["gone", "gone too"] and int(lines[-3]) <= 30


@pytest.mark.parametrize(
    "command",
    ["/usr/lib/x86_64-linux-gnu/modulecmd.tcl", "/usr/share/lmod/lmod/libexec/lmod"],
    ids=["Environment Modules", "Lmod"],
)
def test_module_file(package, tmp_path, command):
    """It is loaded: the path of the preload object is right."""
    subprocess.run(["dpkg-deb", "-x", package, tmp_path], check=True)
    modules = tmp_path / "usr/share/sobor/modulefiles"
    if not os.path.exists(command):
        pytest.skip(f"no {command}")
    done = subprocess.run(
        [command, "bash", "load", "sobor"],
        env={**os.environ, "MODULEPATH": str(modules)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    library = re.search(r"SOBOR_PRELOAD=([^;\s]+)", done.stdout)
    assert library is not None, done.stdout + done.stderr
    assert os.path.samefile(library[1], tmp_path / "usr/lib/sobor/libsobor.so")
    # An administrator's own tree: what is copied there does not set paths of nothing.
    shutil.copytree(modules, tmp_path / "copy")
    done = subprocess.run(
        [command, "bash", "load", "sobor"],
        env={**os.environ, "MODULEPATH": str(tmp_path / "copy")},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "SOBOR_PRELOAD=" not in done.stdout, done.stdout
    assert "of the installation" in done.stdout + done.stderr
