/* SPDX-License-Identifier: BSD-3-Clause */
#include "limit.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* While a process waits. In a test, which shares processors with others, it gives its own away. */
#if defined(LIMIT_YIELDS)
#include <sched.h>
#define PAUSE() ((void)sched_yield())
#elif defined(__SSE2__)
#define PAUSE() _mm_pause()
#else
#define PAUSE() ((void)0)
#endif

/* So far apart that no processor has two on a line or a pair of lines. What most forms go round in
 * stays in a second-level cache, what the wide one does in none of a core's own. */
enum { LINE = 64, APART = 256, PIECE_LEAST = 4 << 10, PIECE_MOST = 32 << 10 };
enum { ROUND = 256 << 10, WIDE_ROUND = 4 << 20 };

/* Of short messages: an odd number of lines each, so that first lines are spread over a cache. What
 * was emptied is said now and then: a line that the other has looked at costs a transfer. */
enum { SLOT_LINES = 9, SLOTS = 64, SLOTS_TOLD = SLOTS / 4 };
enum { FIRST_LINE = LINE - sizeof(uint64_t), SHORT_MOST = SLOT_LINES * LINE - sizeof(uint64_t) };

struct slot {
    _Alignas(LINE) _Atomic uint64_t number; /* of the message in it, from 1 on */
    char bytes[SHORT_MOST];
};

struct direction {
    _Alignas(APART) _Atomic uint64_t met;
    _Alignas(APART) _Atomic uint64_t given;
    _Alignas(APART) _Atomic uint64_t taken; /* by the other */
    _Alignas(APART) _Atomic uint64_t shown; /* calls for which `address` holds */
    uint64_t address;
    uint64_t result;                           /* of a sum in halves, where it is to be */
    _Alignas(APART) _Atomic uint64_t combined; /* calls whose half is there */
    _Alignas(APART) _Atomic uint64_t read;     /* calls, by the other */
    _Alignas(APART) _Atomic uint64_t emptied;  /* slots, by the other */
    _Alignas(APART) struct slot slots[SLOTS];
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

/* Returns what it is then. */
static uint64_t await(const _Atomic uint64_t *count, uint64_t value)
{
    uint64_t found;
    /* Acquire: pairs with the releases of `met`, `given`, `taken`, `shown`, `combined`, `read`,
     * `number` and `emptied` below. */
    while ((found = atomic_load_explicit(count, memory_order_acquire)) < value)
        PAUSE();
    return found;
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

static bool is_short(const struct limit *limit, size_t bytes)
{
    return limit->form == LIMIT_ORDINARY && bytes <= SHORT_MOST;
}

/* Lines that the other has read, to be written soon: stores would wait for them one by one. Written
 * here again: programs of the bench are built of this file and no other. */
static void fetch(struct slot *slot, size_t bytes)
{
    for (char *line = (char *)slot; line < slot->bytes + bytes; line += LINE)
#if defined(__x86_64__)
        __asm__ __volatile__("prefetchw %0" ::"m"(*line));
#else
        __builtin_prefetch(line, 1);
#endif
}

/* The line with the number is written at the end, where the other may be looking at it. Those of
 * the next message but one are fetched: at the next one's it may be looking by now. */
static void give_short(struct limit *limit, const char *from, size_t bytes)
{
    struct direction *out = &limit->segment->from[limit->rank];
    struct slot *slot = &out->slots[limit->sent % SLOTS];
    limit->sent++;
    if (limit->sent > limit->emptied + SLOTS)
        limit->emptied = await(&out->emptied, limit->sent - SLOTS);
    if (bytes > FIRST_LINE)
        memcpy(slot->bytes + FIRST_LINE, from + FIRST_LINE, bytes - FIRST_LINE);
    memcpy(slot->bytes, from, least(bytes, FIRST_LINE));
    atomic_store_explicit(&slot->number, limit->sent, memory_order_release);
    if (limit->sent + 2 <= limit->emptied + SLOTS)
        fetch(&out->slots[(limit->sent + 1) % SLOTS], bytes);
}

static void give(struct limit *limit, const char *from, size_t bytes, size_t piece)
{
    struct direction *out = &limit->segment->from[limit->rank];
    uint64_t round = round_of(limit);
    if (is_short(limit, bytes)) {
        give_short(limit, from, bytes);
        return;
    }
    if (limit->given % piece != 0)
        limit->given += piece - limit->given % piece;
    if (limit->given + piece > limit->freed + round)
        limit->freed = await(&out->taken, limit->given + piece - round);
    store(out->ring + limit->given % round, from, bytes, limit->form);
    limit->given += piece;
    atomic_store_explicit(&out->given, limit->given, memory_order_release);
}

typedef void taker_t(void *to, const void *own, const void *theirs, size_t bytes);

static void take_short(struct limit *limit, char *to, const char *own, size_t bytes, taker_t *taker)
{
    struct direction *in = &limit->segment->from[!limit->rank];
    const struct slot *slot = &in->slots[limit->received % SLOTS];
    limit->received++;
    await(&slot->number, limit->received);
    taker(to, own, slot->bytes, bytes);
    if (limit->received % SLOTS_TOLD == 0)
        atomic_store_explicit(&in->emptied, limit->received, memory_order_release);
}

static void take(struct limit *limit, char *to, const char *own, size_t bytes, size_t piece,
                 taker_t *taker)
{
    struct direction *in = &limit->segment->from[!limit->rank];
    if (is_short(limit, bytes)) {
        take_short(limit, to, own, bytes, taker);
        return;
    }
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

/* One gives `bytes`, and the other takes them. */
static void pass(struct limit *limit, bool gives, const char *from, char *to, const char *own,
                 size_t bytes, taker_t *taker)
{
    size_t piece = piece_of(bytes);
    if (limit->form == LIMIT_DIRECT) {
        exchange_directly(limit, gives ? from : NULL, gives ? NULL : to, own, bytes, taker);
        return;
    }
    for (size_t at = 0; at < bytes; at += piece) {
        if (gives)
            give(limit, from + at, least(piece, bytes - at), piece);
        else
            take(limit, to + at, own + at, least(piece, bytes - at), piece, taker);
    }
}

void limit_broadcast(struct limit *limit, void *buffer, size_t bytes, int root)
{
    bool gives = limit->rank == root;
    pass(limit, gives, buffer, buffer, buffer, bytes, take_copy);
    if (gives)
        await_read(limit);
}

/* The root copies its own part while the other's is on its way. */
void limit_gather(struct limit *limit, const void *send, void *receive, size_t bytes, int root)
{
    bool gives = limit->rank != root;
    size_t own = root == 0 ? 0 : bytes, other = bytes - own;
    char *theirs = (char *)receive + other;
    if (!gives)
        memcpy((char *)receive + own, send, bytes);
    pass(limit, gives, send, theirs, theirs, bytes, take_copy);
    if (gives)
        await_read(limit);
}

void limit_scatter(struct limit *limit, const void *send, void *receive, size_t bytes, int root)
{
    bool gives = limit->rank == root;
    size_t own = root == 0 ? 0 : bytes, other = bytes - own;
    pass(limit, gives, (const char *)send + other, receive, receive, bytes, take_copy);
    if (gives) {
        memcpy(receive, (const char *)send + own, bytes);
        await_read(limit);
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

static taker_t *const takers[] = {take_bytes, take_floats, take_doubles};

void limit_reduce(struct limit *limit, const void *send, void *receive, size_t bytes,
                  enum limit_element element, int root)
{
    bool gives = limit->rank != root;
    pass(limit, gives, send, receive, send, bytes, takers[element]);
    if (gives)
        await_read(limit);
}

void limit_allreduce(struct limit *limit, const void *send, void *receive, size_t bytes,
                     enum limit_element element)
{
    if (limit->form == LIMIT_DIRECT && limit->halves)
        sum_halves(limit, send, receive, bytes, takers[element]);
    else
        exchange(limit, send, receive, send, bytes, takers[element]);
    await_read(limit);
}
