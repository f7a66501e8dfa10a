/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TESTS_RANDOM_H
#define SB_TESTS_RANDOM_H

#include <stdint.h>

/* From 0 to below - 1; the same numbers from the same state, as for ranks that must draw alike. */
static inline uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % below);
}

#endif
