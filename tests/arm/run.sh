#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# run.sh build|unit|fork|sim|mpi: builds the preset aarch64, or runs its tests with that label. The
# short form is optimised less, since it takes a third less to compile; the long one as for users,
# and has all tests, but with the short one's counts, as an emulator takes ten times as long; and of
# simulated machines, which are the same everywhere, what the short form has.
# 77: what this takes is not there. Memory is that of this machine: an order of stores and loads that
# AArch64 alone allows does not show.
set -euo pipefail

skip() {
    echo "left out: $*"
    exit 77
}

for command in aarch64-linux-gnu-gcc qemu-aarch64-static; do
    command -v "$command" >/dev/null || skip "no $command (make test-setup installs it)"
done
[ -e .peers/aarch64/usr ] || skip "no .peers/aarch64 (make peers fetches it)"

if [ "${SOBOR_TEST_LONG:-0}" = 0 ]; then
    target=short_tests label=short flags=-O1
else
    target=all label=. flags='-O2 -g1'
fi
if [ "$1" = build ]; then
    mkdir -p build/aarch64
    cmake --preset aarch64 -D CMAKE_C_FLAGS_RELWITHDEBINFO="$flags"
    cmake --build build/aarch64 --target "$target"
else
    [ "$1" != sim ] || label=short
    SOBOR_TEST_LONG=0 ctest --test-dir build/aarch64 --output-on-failure --no-tests=error -L "^$1$" -L "$label"
fi
