#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Fetches the kernel that the NUMA tests start in an emulated machine: Debian's newest for cloud
# machines. Its package is unpacked below build/numa/kernel; nothing is installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

META=linux-image-cloud-amd64
FOLDER=build/numa/kernel

# The package that the meta package stands for today, such as linux-image-6.1.0-56-cloud-amd64.
newest() {
    apt-cache depends "$META" 2>/dev/null |
        awk '$1 == "Depends:" && $2 ~ /^linux-image-/ && !found { found = 1; print $2 }'
}

# Lists that are missing, or so old that their packages are gone, are the usual hindrance.
renew_lists() {
    [ "$(id -u)" -eq 0 ] && apt-get -qq update
}

download() {
    local package
    package=$(newest)
    if [ -z "$package" ]; then
        echo "fetch_kernel: apt-cache knows no $META" >&2
        return 1
    fi
    (cd "$1" && apt-get -qq -o APT::Sandbox::User=root download "$package")
}

compgen -G "$FOLDER/boot/vmlinuz-*" >/dev/null && exit 0
mkdir -p "$FOLDER/boot"
scratch=$(mktemp -d -p "$FOLDER")
trap 'rm -rf "$scratch"' EXIT
if ! download "$scratch"; then
    renew_lists && download "$scratch" || exit 1
fi
# Only the kernel itself: what the machine needs of it is built in. Nothing behind it is unpacked.
{ dpkg-deb --fsys-tarfile "$scratch"/*.deb 2>/dev/null || true; } |
    tar --extract --directory "$scratch" --occurrence --wildcards './boot/vmlinuz-*'
mv "$scratch"/boot/vmlinuz-* "$FOLDER/boot/"
