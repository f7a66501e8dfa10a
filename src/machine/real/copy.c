/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of long data, in loops of vectors or by the library's memcpy. That turns to `rep movsb`,
 * which some processors (AMD Zen 3) execute six to eight times slower where the destination lies
 * just below or above the source within the page: as a ring that begins on a page does to what
 * malloc gives, 16 bytes past one. Elsewhere it is the slower copy of what the first cache holds,
 * the faster one beyond, and by far the faster one into lines that another core has read: it takes
 * them over without fetching what it overwrites. A look at the start tells what holds here, for
 * each class of sizes. What is not in caches can not be foreseen by it: long copies show themselves
 * which of the two is the faster, unless the look has met the trap. This file is compiled so that
 * the compiler makes no memcpy of the loops (unit.copy_loops looks for one).
 *
 * Brief copies have a trap of their own. A store of a vector that goes over the end of a page takes
 * its time on some processors (Intel's), and what comes after it waits, most of all loads that have
 * the same place in the page as what was to be stored: 64 to 512 bytes take memcpy, which stores by
 * vectors of up to 64 bytes, two to five times as long. No vector of 16 bytes goes over an end
 * where the target begins at a multiple of 16, as it does with malloc and in a segment.
 */
#include "base/pages.h"
#include "machine/primitive.h"
#include "machine/real/copy_way.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* So many are held in registers at once. */
#define VECTORS_MOST 8

#define VECTOR_BYTES 16
#define COPY_VECTORS vectors_baseline
#define COPY_END end_baseline
#define COPY_LOOP copy_baseline
#define COPY_TARGET
#include "machine/real/copy_loop.h"

#if defined(__x86_64__)

#define VECTOR_BYTES 32
#define COPY_VECTORS vectors_avx
#define COPY_END end_avx
#define COPY_LOOP copy_avx
#define COPY_TARGET __attribute__((target("avx")))
#include "machine/real/copy_loop.h"

#define VECTOR_BYTES 64
#define COPY_VECTORS vectors_avx512
#define COPY_END end_avx512
#define COPY_LOOP copy_avx512
#define COPY_TARGET __attribute__((target("avx512f")))
#include "machine/real/copy_loop.h"

static sb_copy_t *const loops[SB_INSTRUCTIONS] = {copy_baseline, copy_avx, copy_avx512};

#else

static sb_copy_t *const loops[SB_INSTRUCTIONS] = {copy_baseline};

#endif

enum { NARROW = 16 };

/* By vectors of 16 bytes, many at once. Where one may go over the end of a page, none overlaps. */
static void copy_narrow(void *restrict target, const void *restrict source, size_t bytes)
{
    enum { MANY = NARROW * VECTORS_MOST };
    char *to = target;
    const char *from = source;
    size_t at = 0;

    for (; at + MANY <= bytes; at += MANY)
        vectors_baseline(to + at, from + at, MANY);
    for (; at + NARROW <= bytes; at += NARROW)
        vectors_baseline(to + at, from + at, NARROW);
    memcpy(to + at, from + at, bytes - at);
}

/* Of copies to which the trap does something. Longer ones memcpy does by a loop. */
#define BRIEF_MOST ((size_t)512)

/* Up to so many bytes the library's copy is slow there; 0: it is not. */
static size_t trapped_most = BRIEF_MOST;

/*
 * Of a target that goes over the end of a page. Whole lines from the beginning of one do so by no
 * vector. They are the ones that the library copies fast here, so nothing is jumped over for them.
 */
static inline bool is_trapped(const void *to, size_t bytes)
{
    uintptr_t place = (uintptr_t)to;

    return SB_UNLIKELY((place | bytes) % SB_LINE != 0) &&
           SB_UNLIKELY((bytes <= trapped_most) & (place % NARROW == 0));
}

void sb_copy_over_page(void *restrict to, const void *restrict from, size_t bytes)
{
    if (is_trapped(to, bytes))
        copy_narrow(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

/* Classes of doubling sizes from SB_COPY_LONG on; the last holds all that is longer. */
#define CLASSES 6

/* The copies in use. */
static sb_copy_t *usual[CLASSES] = {copy_baseline, copy_baseline, copy_baseline,
                                    copy_baseline, copy_baseline, copy_baseline};
static sb_copy_t *shared = copy_baseline;
/* Long copies go by this loop or by the library's copy, as they themselves find; NULL: as above. */
static sb_copy_t *long_loop;
static sb_way_t ways[SB_WAY_CLASSES];

/* Without a loop: of 2 KiB such a thing is seen. */
static inline size_t class_of(size_t bytes)
{
    return sb_min(63 - (size_t)__builtin_clzll(bytes / SB_COPY_LONG), CLASSES - 1);
}

static void copy_by_library(void *restrict to, const void *restrict from, size_t bytes)
{
    memcpy(to, from, bytes);
}

/* Apart, so that shorter copies save no registers for it: 2 KiB take as long as six of those. */
static __attribute__((noinline)) void copy_tried(void *restrict to, const void *restrict from,
                                                 size_t bytes)
{
    sb_way_copy(&ways[sb_way_class(bytes)], long_loop, copy_by_library, 0, to, from, bytes);
}

void sb_copy_long(void *restrict to, const void *restrict from, size_t bytes)
{
    if (bytes < SB_COPY_FAR || long_loop == NULL)
        usual[class_of(bytes)](to, from, bytes);
    else
        copy_tried(to, from, bytes);
}

void sb_copy_shared_long(void *restrict to, const void *restrict from, size_t bytes)
{
    shared(to, from, bytes);
}

bool sb_copy_use(sb_instructions_t set)
{
    if (!sb_instructions_known(set))
        return false;
    for (size_t size_class = 0; size_class < CLASSES; size_class++)
        usual[size_class] = loops[set];
    shared = loops[set];
    long_loop = NULL;
    trapped_most = BRIEF_MOST;
    return true;
}

/* Pieces that the two ways of copying are timed with go up to the last class. */
#define TRIAL_MOST (SB_COPY_LONG << (CLASSES - 1))
#define TRIALS 4
/* Half as many of longer ones, which take most of the time and are disturbed less. */
#define TRIAL_LONG ((size_t)32 << 10)
/* Of short pieces several are timed at once, of so many bytes together. */
#define TRIAL_LEAST ((size_t)16 << 10)
#define TRIAL_BRIEF ((size_t)4 << 10)

/* From one pair of pieces to the next. */
#define PAIR (2 * (TRIAL_MOST + SB_PAGE))

/*
 * In turns in two places: a call of a collective goes through its buffers and those that it has in
 * common with others, so that the first cache holds less of each piece than of one that is copied
 * again and again.
 */
static uint64_t shortest_time(sb_copy_t *copy, char *to, const char *from, size_t bytes)
{
    size_t row = bytes < SB_COPY_LONG ? TRIAL_BRIEF : sb_max(bytes, TRIAL_LEAST);
    int trials = bytes < TRIAL_LONG ? TRIALS : TRIALS / 2;
    uint64_t shortest = UINT64_MAX;

    for (int i = 0; i < trials; i++) {
        uint64_t began = sb_now_ns();
        for (size_t copied = 0; copied < row; copied += bytes) {
            copy(to, from, bytes);
            copy(to + PAIR, from + PAIR, bytes);
        }
        shortest = sb_min(shortest, sb_now_ns() - began);
    }
    return shortest;
}

/* What a look at one class of sizes has found of the library's copy beside the loop. */
typedef struct look {
    bool faster;  /* on the whole, and nowhere much slower */
    bool trapped; /* far slower at some place */
} look_t;

/* At places where the trap shows, and where it does not. */
static look_t look_at(sb_copy_t *loop, char *pages, size_t bytes)
{
    static const size_t places[][2] = {{0, 16}, {16, 0}, {0, 64}};
    char *other = pages + TRIAL_MOST + SB_PAGE;
    uint64_t sum_library = 0, sum_loop = 0;
    look_t look = {.faster = true};

    for (size_t i = 0; i < SB_COUNT_OF(places); i++) {
        char *to = pages + places[i][0], *from = other + places[i][1];
        uint64_t library = shortest_time(copy_by_library, to, from, bytes);
        uint64_t ours = shortest_time(loop, to, from, bytes);
        look.faster = look.faster && 4 * library <= 5 * ours;
        look.trapped = look.trapped || library > 3 * ours;
        sum_library += library;
        sum_loop += ours;
    }
    look.faster = look.faster && sum_library < sum_loop;
    return look;
}

/*
 * For what others have read the library's copy stands unless it is trapped: what it gains there
 * cannot be measured by one rank alone.
 */
static void choose(sb_copy_t *loop, char *pages)
{
    bool trapped = false;

    for (size_t size_class = 0; size_class < CLASSES; size_class++) {
        look_t look = look_at(loop, pages, SB_COPY_LONG << size_class);
        usual[size_class] = look.faster ? copy_by_library : loop;
        trapped = trapped || look.trapped;
    }
    shared = trapped ? loop : copy_by_library;
    long_loop = trapped ? NULL : loop;
}

static const size_t brief_sizes[] = {64, 256, 384, BRIEF_MOST};

/* Whether they are, beside copies of which no vector goes over an end. */
static bool are_trapped(sb_copy_t *library, char *pages)
{
    static const size_t places[][2] = {
        {SB_PAGE - 144, 16}, {SB_PAGE - 48, 2048}, {SB_PAGE - 16, 64}};
    char *other = pages + TRIAL_MOST + SB_PAGE;
    uint64_t sum_library = 0, sum_narrow = 0;

    for (size_t i = 0; i < SB_COUNT_OF(places) * SB_COUNT_OF(brief_sizes); i++) {
        const size_t *place = places[i % SB_COUNT_OF(places)];
        size_t bytes = brief_sizes[i / SB_COUNT_OF(places)];
        char *to = pages + place[0], *from = other + place[1];
        sum_library += shortest_time(library, to, from, bytes);
        sum_narrow += shortest_time(copy_narrow, to, from, bytes);
    }
    return 4 * sum_library > 5 * sum_narrow;
}

void sb_copy_start(void)
{
    size_t bytes = 2 * PAIR;
    char *pages = sb_pages_take(bytes);

    sb_copy_use(sb_instructions_best());
    if (pages == NULL)
        return;
    memset(pages, 0, bytes);
    choose(usual[0], pages);
    trapped_most = are_trapped(copy_by_library, pages) ? BRIEF_MOST : 0;
    sb_pages_give(pages, bytes);
}

#if defined(__SSE2__)

/* `ahead`: so many lines of the source are asked for; nothing behind its end, which may be another
 * rank's. */
static inline void stream(void *restrict to, const void *restrict from, size_t bytes, size_t ahead)
{
    size_t head = sb_min(-(uintptr_t)to % SB_LINE, bytes);
    size_t lines = (bytes - head) / SB_LINE;
    __m128i *line = (__m128i *)(void *)((char *)to + head);
    const __m128i *source = (const __m128i *)(const void *)((const char *)from + head);

    memcpy(to, from, head);

    for (size_t i = 0; i < lines; i++, line += 4, source += 4) {
        if (ahead > 0 && i + ahead < lines)
            _mm_prefetch(source + 4 * ahead, _MM_HINT_T0);
        __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
        __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(line, a);
        _mm_stream_si128(line + 1, b);
        _mm_stream_si128(line + 2, c);
        _mm_stream_si128(line + 3, d);
    }
    memcpy(line, source, (bytes - head) % SB_LINE);
    sb_order_streamed();
}

void sb_copy_streaming(void *restrict to, const void *restrict from, size_t bytes)
{
    stream(to, from, bytes, 0);
}

void sb_copy_streaming_far(void *restrict to, const void *restrict from, size_t bytes)
{
    stream(to, from, bytes, 16);
}

#else

void sb_copy_streaming_far(void *restrict to, const void *restrict from, size_t bytes)
{
    sb_copy(to, from, bytes);
}

void sb_copy_streaming(void *restrict to, const void *restrict from, size_t bytes)
{
    sb_copy(to, from, bytes);
}

#endif
