/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of long data, in loops of vectors. The library's memcpy turns to `rep movsb` there, which
 * some processors (AMD Zen 3) execute six to eight times slower where the destination lies just
 * below or above the source within the page: as a ring that begins on a page does to what malloc
 * gives, 16 bytes past one. On others it is the better copy, above all where ranks share a core: it
 * need not fetch what it overwrites. A look at the start tells which kind this is. This file is
 * compiled so that the compiler makes no memcpy of the loops (unit.copy_loops looks for one).
 */
#include "machine/primitive.h"

#include <stdlib.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* So many are held in registers at once. */
#define VECTORS_MOST 8

#define VECTOR_BYTES 16
#define COPY_VECTORS vectors_baseline
#define COPY_LOOP copy_baseline
#define COPY_TARGET
#include "machine/real/copy_loop.h"

#if defined(__x86_64__)

#define VECTOR_BYTES 32
#define COPY_VECTORS vectors_avx
#define COPY_LOOP copy_avx
#define COPY_TARGET __attribute__((target("avx")))
#include "machine/real/copy_loop.h"

#define VECTOR_BYTES 64
#define COPY_VECTORS vectors_avx512
#define COPY_LOOP copy_avx512
#define COPY_TARGET __attribute__((target("avx512f")))
#include "machine/real/copy_loop.h"

static sb_copy_t *const loops[SB_INSTRUCTIONS] = {copy_baseline, copy_avx, copy_avx512};

#else

static sb_copy_t *const loops[SB_INSTRUCTIONS] = {copy_baseline};

#endif

sb_copy_t *sb_copy_long = copy_baseline;

bool sb_copy_use(sb_instructions_t set)
{
    if (!sb_instructions_known(set))
        return false;
    sb_copy_long = loops[set];
    return true;
}

/* A message that stays in the first caches, and how often each way of copying it is timed. */
#define TRIAL_BYTES ((size_t)16 << 10)
#define TRIALS 6

static uint64_t shortest_time(sb_copy_t *copy, char *to, const char *from)
{
    uint64_t shortest = UINT64_MAX;

    for (int i = 0; i < TRIALS; i++) {
        uint64_t began = sb_now_ns();
        copy(to, from, TRIAL_BYTES);
        shortest = sb_min(shortest, sb_now_ns() - began);
    }
    return shortest;
}

static void copy_by_library(void *restrict to, const void *restrict from, size_t bytes)
{
    memcpy(to, from, bytes);
}

/* Whether the library's copy is nowhere much slower than the loop in use. */
static bool library_is_even(char *pages)
{
    static const size_t places[][2] = {{0, 16}, {16, 0}, {0, 64}};
    char *other = pages + TRIAL_BYTES + SB_PAGE;
    bool even = true;

    for (size_t i = 0; i < SB_COUNT_OF(places) && even; i++) {
        char *to = pages + places[i][0], *from = other + places[i][1];
        even = 4 * shortest_time(copy_by_library, to, from) <=
               5 * shortest_time(sb_copy_long, to, from);
    }
    return even;
}

void sb_copy_start(void)
{
    char *pages = aligned_alloc(SB_PAGE, 2 * (TRIAL_BYTES + SB_PAGE));

    sb_copy_use(sb_instructions_best());
    if (pages == NULL)
        return;
    memset(pages, 0, 2 * (TRIAL_BYTES + SB_PAGE));
    if (library_is_even(pages))
        sb_copy_long = copy_by_library;
    free(pages);
}

#if defined(__SSE2__)

void sb_copy_streaming(void *restrict to, const void *restrict from, size_t bytes)
{
    size_t head = sb_min(-(uintptr_t)to % SB_LINE, bytes);
    size_t lines = (bytes - head) / SB_LINE;
    __m128i *line = (__m128i *)(void *)((char *)to + head);
    const __m128i *source = (const __m128i *)(const void *)((const char *)from + head);

    memcpy(to, from, head);

    for (size_t i = 0; i < lines; i++, line += 4, source += 4) {
        __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
        __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(line, a);
        _mm_stream_si128(line + 1, b);
        _mm_stream_si128(line + 2, c);
        _mm_stream_si128(line + 3, d);
    }
    memcpy(line, source, (bytes - head) % SB_LINE);
    /* Streaming stores are not ordered by a release. */
    _mm_sfence();
}

#else

void sb_copy_streaming(void *restrict to, const void *restrict from, size_t bytes)
{
    sb_copy(to, from, bytes);
}

#endif
