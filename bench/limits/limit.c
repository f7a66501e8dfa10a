/* SPDX-License-Identifier: BSD-3-Clause */
#include "limit.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* So far apart that no processor has two on a line or a pair of lines. What most forms go round in
 * stays in a second-level cache, what the wide one does in none of a core's own. */
enum { LINE = 64, APART = 256, PIECE_LEAST = 4 << 10, PIECE_MOST = 32 << 10 };
enum { ROUND = 256 << 10, WIDE_ROUND = 4 << 20 };

struct direction {
    _Alignas(APART) _Atomic uint64_t met;
    _Alignas(APART) _Atomic uint64_t given;
    _Alignas(APART) _Atomic uint64_t taken; /* by the other */
    _Alignas(APART) _Atomic uint64_t shown; /* calls for which `address` holds */
    uint64_t address;
    uint64_t result;                           /* of a sum in halves, where it is to be */
    _Alignas(APART) _Atomic uint64_t combined; /* calls whose half is there */
    _Alignas(APART) _Atomic uint64_t read;     /* calls, by the other */
    _Alignas(APART) char ring[WIDE_ROUND];
};

struct limit_segment {
    struct direction from[2];
};

const size_t limit_segment_bytes = sizeof(struct limit_segment);

const char *const limit_forms[LIMIT_FORMS] = {"ordinary", "wide", "non_temporal", "direct"};

void limit_begin(struct limit_segment *segment)
{
    for (int rank = 0; rank < 2; rank++)
        memset(&segment->from[rank], 0, offsetof(struct direction, ring));
}

static void await(const _Atomic uint64_t *count, uint64_t value)
{
    /* Acquire: pairs with the releases of `met`, `given`, `taken`, `shown`, `combined` and `read`
     * below. */
    while (atomic_load_explicit(count, memory_order_acquire) < value) {
#if defined(__SSE2__)
        _mm_pause();
#endif
    }
}

static void store(char *to, const char *from, size_t bytes, enum limit_form form)
{
#if defined(__SSE2__)
    for (; form == LIMIT_NON_TEMPORAL && bytes >= LINE; bytes -= LINE, to += LINE, from += LINE)
        for (size_t i = 0; i < LINE; i += sizeof(__m128i))
            _mm_stream_si128((__m128i *)(void *)(to + i),
                             _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
    if (form == LIMIT_NON_TEMPORAL)
        _mm_sfence();
#else
    (void)form; /* all are ordinary */
#endif
    memcpy(to, from, bytes);
}

/* Chunks begin on lines, and none goes over the end: a round is a multiple of each length. */
static size_t piece_of(size_t bytes)
{
    size_t piece = PIECE_LEAST;
    while (piece < PIECE_MOST && piece * 8 < bytes)
        piece *= 2;
    return piece;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static uint64_t round_of(const struct limit *limit)
{
    return limit->form == LIMIT_WIDE ? WIDE_ROUND : ROUND;
}

static void give(struct limit *limit, const char *from, size_t bytes, size_t piece)
{
    struct direction *out = &limit->segment->from[limit->rank];
    uint64_t round = round_of(limit);
    if (limit->given % piece != 0)
        limit->given += piece - limit->given % piece;
    await(&out->taken, limit->given + piece < round ? 0 : limit->given + piece - round);
    store(out->ring + limit->given % round, from, bytes, limit->form);
    limit->given += piece;
    atomic_store_explicit(&out->given, limit->given, memory_order_release);
}

typedef void taker_t(void *to, const void *own, const void *theirs, size_t bytes);

static void take(struct limit *limit, char *to, const char *own, size_t bytes, size_t piece,
                 taker_t *taker)
{
    struct direction *in = &limit->segment->from[!limit->rank];
    if (limit->taken % piece != 0)
        limit->taken += piece - limit->taken % piece;
    await(&in->given, limit->taken + piece);
    taker(to, own, in->ring + limit->taken % round_of(limit), bytes);
    limit->taken += piece;
    atomic_store_explicit(&in->taken, limit->taken, memory_order_release);
}

/* The other's data is read where it is; `give_from` NULL: there is none to give, `to` NULL: none to
 * take. */
static void exchange_directly(struct limit *limit, const char *give_from, char *to, const char *own,
                              size_t bytes, taker_t *taker)
{
    struct direction *out = &limit->segment->from[limit->rank];
    struct direction *in = &limit->segment->from[!limit->rank];
    limit->calls++;
    if (give_from != NULL) {
        out->address = (uintptr_t)give_from;
        atomic_store_explicit(&out->shown, limit->calls, memory_order_release);
    }
    if (to != NULL) {
        await(&in->shown, limit->calls);
        taker(to, own, limit->reach(in->address, bytes), bytes);
        atomic_store_explicit(&in->read, limit->calls, memory_order_release);
    }
}

static void await_read(struct limit *limit)
{
    if (limit->form == LIMIT_DIRECT)
        await(&limit->segment->from[limit->rank].read, limit->calls);
}

/* Both give `bytes` and take as many; one chunk is written ahead. */
static void exchange(struct limit *limit, const char *give_from, char *to, const char *own,
                     size_t bytes, taker_t *taker)
{
    size_t piece = piece_of(bytes), given = 0;
    if (limit->form == LIMIT_DIRECT) {
        exchange_directly(limit, give_from, to, own, bytes, taker);
        return;
    }
    for (size_t at = 0; at < bytes; at += piece) {
        for (; given < bytes && given <= at + piece; given += piece)
            give(limit, give_from + given, least(piece, bytes - given), piece);
        take(limit, to + at, own + at, least(piece, bytes - at), piece, taker);
    }
}

void limit_barrier(struct limit *limit)
{
    limit->met++;
    atomic_store_explicit(&limit->segment->from[limit->rank].met, limit->met, memory_order_release);
    await(&limit->segment->from[!limit->rank].met, limit->met);
}

static void take_copy(void *to, const void *own, const void *theirs, size_t bytes)
{
    (void)own;
    memcpy(to, theirs, bytes);
}

void limit_broadcast(struct limit *limit, void *buffer, size_t bytes, int root)
{
    size_t piece = piece_of(bytes);
    bool gives = limit->rank == root;
    if (limit->form == LIMIT_DIRECT) {
        exchange_directly(limit, gives ? buffer : NULL, gives ? NULL : buffer, buffer, bytes,
                          take_copy);
        if (gives)
            await_read(limit);
        return;
    }
    for (size_t at = 0; at < bytes; at += piece) {
        char *place = (char *)buffer + at;
        if (gives)
            give(limit, place, least(piece, bytes - at), piece);
        else
            take(limit, place, place, least(piece, bytes - at), piece, take_copy);
    }
}

void limit_allgather(struct limit *limit, const void *send, void *receive, size_t bytes)
{
    char *theirs = (char *)receive + (limit->rank == 0 ? bytes : 0);
    exchange(limit, send, theirs, theirs, bytes, take_copy);
    memcpy((char *)receive + (limit->rank == 0 ? 0 : bytes), send, bytes);
    await_read(limit);
}

void limit_alltoall(struct limit *limit, const void *send, void *receive, size_t bytes)
{
    size_t own = limit->rank == 0 ? 0 : bytes, other = bytes - own;
    char *theirs = (char *)receive + other;
    exchange(limit, (const char *)send + other, theirs, theirs, bytes, take_copy);
    memcpy((char *)receive + own, (const char *)send + own, bytes);
    await_read(limit);
}

#if defined(__x86_64__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

#define TAKE_SUM(name, type)                                                                       \
    WIDE static void name(void *to, const void *own, const void *theirs, size_t bytes)             \
    {                                                                                              \
        type *restrict sum = to;                                                                   \
        const type *restrict mine = own;                                                           \
        const type *restrict other = theirs;                                                       \
        for (size_t i = 0; i < bytes / sizeof(type); i++)                                          \
            sum[i] = (type)(mine[i] + other[i]);                                                   \
    }

TAKE_SUM(take_bytes, unsigned char)
TAKE_SUM(take_floats, float)
TAKE_SUM(take_doubles, double)

/* Each combines one half where both contributions are, and copies the other half of the result. */
static void sum_halves(struct limit *limit, const char *send, char *receive, size_t bytes,
                       taker_t *taker)
{
    struct direction *out = &limit->segment->from[limit->rank];
    struct direction *in = &limit->segment->from[!limit->rank];
    size_t half = bytes / 2 & ~(size_t)(LINE - 1), own = limit->rank == 0 ? half : bytes - half;
    size_t from = limit->rank == 0 ? 0 : half, other = half - from;
    limit->calls++;
    out->address = (uintptr_t)send;
    out->result = (uintptr_t)receive;
    atomic_store_explicit(&out->shown, limit->calls, memory_order_release);
    await(&in->shown, limit->calls);
    const char *theirs = limit->reach(in->address, bytes);
    const char *result = limit->reach(in->result, bytes);
    taker(receive + from, send + from, theirs + from, own);
    atomic_store_explicit(&out->combined, limit->calls, memory_order_release);
    await(&in->combined, limit->calls);
    memcpy(receive + other, result + other, bytes - own);
    atomic_store_explicit(&out->read, limit->calls, memory_order_release);
}

void limit_allreduce(struct limit *limit, const void *send, void *receive, size_t bytes,
                     enum limit_element element)
{
    static taker_t *const takers[] = {take_bytes, take_floats, take_doubles};
    if (limit->form == LIMIT_DIRECT && limit->halves)
        sum_halves(limit, send, receive, bytes, takers[element]);
    else
        exchange(limit, send, receive, send, bytes, takers[element]);
    await_read(limit);
}
