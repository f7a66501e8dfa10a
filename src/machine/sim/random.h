/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_RANDOM_H
#define SB_MACHINE_SIM_RANDOM_H

#include "base/compiler.h"

/* Random numbers in integers: the same on every machine. */

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. */
static inline uint64_t sb_random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A stream of its own for each purpose and number. */
static inline uint64_t sb_random_stream(uint64_t seed, uint64_t purpose, uint64_t number)
{
    uint64_t state = seed ^ (purpose << 56);

    state = sb_random_next(&state) + number;
    return sb_random_next(&state);
}

/* From 0 to below - 1; `below` far smaller than 2^64. */
static inline uint64_t sb_random_below(uint64_t *state, uint64_t below)
{
    return (uint64_t)(((unsigned __int128)sb_random_next(state) * below) >> 64);
}

/* Minus the logarithm of a random number from (0, 1], in units of 2^-32. */
static inline uint64_t sb_random_log(uint64_t *state)
{
    uint64_t mantissa = sb_random_next(state) | 1; /* stands for mantissa / 2^64 */
    unsigned shift = (unsigned)__builtin_clzll(mantissa);
    uint64_t fraction = 0; /* of the logarithm to base 2, bit by bit by squaring */

    mantissa <<= shift;
    for (unsigned bit = 0; bit < 32; bit++) {
        unsigned __int128 square = (unsigned __int128)mantissa * mantissa;
        fraction <<= 1;
        if ((uint64_t)(square >> 127) != 0) {
            fraction |= 1;
            mantissa = (uint64_t)(square >> 64);
        } else {
            mantissa = (uint64_t)(square >> 63);
        }
    }
    /* log2(value) = -(shift + 1) + 1 + fraction / 2^32 */
    uint64_t minus = ((uint64_t)shift << 32) + ((UINT64_C(1) << 32) - fraction);
    /* ln 2 in units of 2^-32 */
    return (uint64_t)(((unsigned __int128)minus * 2977044472u) >> 32);
}

#endif
