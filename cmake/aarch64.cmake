# SPDX-License-Identifier: BSD-3-Clause
# Toolchain of the preset aarch64: Debian's cross compiler, the libraries that
# scripts/fetch_sysroot.sh unpacks (or another AARCH64_ROOT), and user emulation for the tests.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)

get_filename_component(fetched_root ${CMAKE_CURRENT_LIST_DIR}/../.peers/aarch64 ABSOLUTE)
set(AARCH64_ROOT ${fetched_root} CACHE PATH "Root of the libraries for AArch64")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES AARCH64_ROOT)

set(CMAKE_SYSROOT ${AARCH64_ROOT})
set(CMAKE_FIND_ROOT_PATH ${AARCH64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${AARCH64_ROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${AARCH64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${AARCH64_ROOT}/usr/share/pkgconfig)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${AARCH64_ROOT})
