/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_COMPILER_H
#define SB_BASE_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#define SB_LIKELY(x) __builtin_expect(!!(x), 1)
#define SB_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* Of a function that every call of few bytes goes through, in more than one place. */
#define SB_INLINED __attribute__((__always_inline__)) static inline
#define SB_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#define SB_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static inline size_t sb_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t sb_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Rounds up to a multiple of unit, a power of two. */
static inline size_t sb_round_up(size_t value, size_t unit)
{
    return (value + unit - 1) & ~(unit - 1);
}

/* Spreads handles and addresses over a table: its low bits count. Those of the numbers themselves
 * are often alike. */
static inline uint64_t sb_hash(uint64_t number)
{
    return number * 0x9e3779b97f4a7c15u >> 32;
}

/* How many units, of any size, hold so much. */
static inline size_t sb_divide_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit;
}

/* What shared memory is dealt out in; the smallest page of any machine that this runs on. */
#define SB_PAGE ((size_t)4096)

#endif
