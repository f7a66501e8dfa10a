/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One copy of long data, for copy.c, which defines VECTOR_BYTES, COPY_ROUND, COPY_LOOP (names) and
 * COPY_TARGET (an attribute). Included once for each set of instructions.
 */

COPY_TARGET static inline void COPY_ROUND(char *to, const char *from)
{
    typedef long long vector_t __attribute__((vector_size(VECTOR_BYTES), aligned(1), may_alias));
    enum { VECTORS = ROUND / VECTOR_BYTES };
    const vector_t *source = (const vector_t *)(const void *)from;
    vector_t *target = (vector_t *)(void *)to;
    vector_t held[VECTORS];

#pragma GCC unroll 16
    for (size_t i = 0; i < VECTORS; i++)
        held[i] = source[i];
#pragma GCC unroll 16
    for (size_t i = 0; i < VECTORS; i++)
        target[i] = held[i];
}

/* The rounds between the first and the last store whole lines; those two overlap with them. */
COPY_TARGET static void COPY_LOOP(void *restrict to, const void *restrict from, size_t bytes)
{
    size_t last = bytes - ROUND;

    COPY_ROUND(to, from);
    for (size_t at = ROUND - (uintptr_t)to % SB_LINE; at < last; at += ROUND)
        COPY_ROUND((char *)to + at, (const char *)from + at);
    COPY_ROUND((char *)to + last, (const char *)from + last);
}

#undef VECTOR_BYTES
#undef COPY_ROUND
#undef COPY_LOOP
#undef COPY_TARGET
