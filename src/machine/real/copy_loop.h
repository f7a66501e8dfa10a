/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One copy of long data, for copy.c, which defines VECTOR_BYTES, COPY_VECTORS, COPY_END and
 * COPY_LOOP (names) and COPY_TARGET (an attribute). Included once for each set of instructions.
 */

/* Loads all before it stores any. */
COPY_TARGET static inline __attribute__((always_inline)) void
COPY_VECTORS(char *to, const char *from, size_t bytes)
{
    typedef long long vector_t __attribute__((vector_size(VECTOR_BYTES), aligned(1), may_alias));
    const vector_t *source = (const vector_t *)(const void *)from;
    vector_t *target = (vector_t *)(void *)to;
    vector_t held[VECTORS_MOST];

#pragma GCC unroll 8
    for (size_t i = 0; i < bytes / VECTOR_BYTES; i++)
        held[i] = source[i];
#pragma GCC unroll 8
    for (size_t i = 0; i < bytes / VECTOR_BYTES; i++)
        target[i] = held[i];
}

/* A line of what was loaded, or of the source again: by short vectors over the end of a page. */
COPY_TARGET static inline __attribute__((always_inline)) void COPY_END(char *to, const char *from,
                                                                       const char *held)
{
    if (SB_UNLIKELY(sb_copy_goes_over_page(to, SB_LINE)))
        vectors_baseline(to, from, SB_LINE);
    else
        COPY_VECTORS(to, held, SB_LINE);
}

/*
 * Whole lines of the target, and what is left before and behind in two lines that overlap with
 * them. Those are loaded first and stored last: a load waits for stores just before it that have
 * the same place in the page, which they have where both sides do.
 */
COPY_TARGET static void COPY_LOOP(void *restrict to, const void *restrict from, size_t bytes)
{
    size_t round = sb_min(4 * SB_LINE, VECTORS_MOST * VECTOR_BYTES);
    size_t at = SB_LINE - (uintptr_t)to % SB_LINE;
    char ends[2][SB_LINE];

    COPY_VECTORS(ends[0], from, SB_LINE);
    COPY_VECTORS(ends[1], (const char *)from + bytes - SB_LINE, SB_LINE);
    for (; at + round <= bytes; at += round)
        COPY_VECTORS((char *)to + at, (const char *)from + at, round);
    for (; at + SB_LINE <= bytes; at += SB_LINE)
        COPY_VECTORS((char *)to + at, (const char *)from + at, SB_LINE);
    COPY_END(to, from, ends[0]);
    COPY_END((char *)to + bytes - SB_LINE, (const char *)from + bytes - SB_LINE, ends[1]);
}

#undef VECTOR_BYTES
#undef COPY_VECTORS
#undef COPY_LOOP
#undef COPY_END
#undef COPY_TARGET
