/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_BUILD_H
#define SB_BASE_BUILD_H

#include <stdint.h>

/*
 * A number for the build that this code is of, never 0. Processes share memory with those of the
 * same number alone: what they keep there has the layout of one build.
 */
uint64_t sb_build_id(void);

#endif
