#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Fetches what the preset aarch64 builds against and its tests run with: Debian's libraries for
# AArch64, unpacked below .peers/aarch64. Nothing is installed: apt keeps its lists of that
# architecture, and what it takes for installed, in a folder of their own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PACKAGES=(libc6-dev libgcc-s1 libhwloc-dev libjansson-dev libcmocka-dev libopenmpi-dev libmpich-dev)
# Programs, and headers that none of Sobor's sources includes: what depends on them comes without.
WITHOUT=(adduser debconf dpkg g++ gcc gcc-12 gfortran gfortran-12 hwloc hwloc-nox libcrypt-dev
    libevent-dev libhwloc-plugins libjs-jquery libjs-jquery-ui libltdl-dev libnsl-dev libpmix-dev
    libslurm38 libucx-dev openmpi-bin passwd perl rpcsvc-proto zlib1g-dev)
FOLDER=.peers/aarch64

private_apt() {
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
        -o Dir::State="$scratch/state" -o Dir::State::status="$scratch/status" \
        -o Dir::Cache="$scratch/cache" -o APT::Sandbox::User=root \
        -o APT::Install-Recommends=false -o Acquire::Languages=none "$@"
}

# As if they were there.
write_status() {
    local package
    for package in "${WITHOUT[@]}"; do
        printf '%s\n' "Package: $package" "Status: install ok installed" "Architecture: arm64" \
            "Multi-Arch: foreign" "Version: 99:1" ""
    done
}

unpack() {
    local package
    for package in "$scratch"/cache/archives/*.deb; do
        dpkg-deb --extract "$package" "$scratch/root"
    done
}

# Debian's links from the root would lead out of the folder.
turn_links() {
    local link target
    find "$scratch/root" -type l -lname '/*' | while read -r link; do
        target=$(readlink "$link")
        ln -sfnr "$scratch/root$target" "$link"
    done
}

wanted="${PACKAGES[*]}"
[ "$(cat "$FOLDER/.packages" 2>/dev/null)" != "$wanted" ] || exit 0
mkdir -p "${FOLDER%/*}"
scratch=$(realpath "$(mktemp -d -p "${FOLDER%/*}")")
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/{root,state/lists/partial,cache/archives/partial}
write_status >"$scratch/status"
private_apt update
private_apt install -y --download-only "${PACKAGES[@]}"
unpack
turn_links
echo "$wanted" >"$scratch/root/.packages"
rm -rf "$FOLDER" "$scratch/root/usr/share/doc" "$scratch/root/usr/share/man"
mv "$scratch/root" "$FOLDER"
