#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# make_folders.sh PREFIX FOLDER...: called by cmake --install and cpack before all else. Makes those that
# are not there below the prefix, for all users whatever the umask, by which CMake makes folders.
set -eu
umask 022
prefix=$1
shift
for folder; do
    mkdir -p "$prefix/$folder"
done
# What is made into a package has been begun by another program, which does not mind the umask.
[ -z "${DESTDIR:-}" ] || chmod a+rx "$prefix"
