/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Element i of rank r is made so that the combination of the first n ranks has a short formula:
 * with v = i STEP + r RANK + c, numbers are added as they are; the operator that is not commutative
 * composes the maps x -> SLOPE x + v, so that v counts SLOPE^r times.
 */
#include "tools/simulate_reduction.h"

#include <string.h>

#define STEP 2654435761u
#define RANK 40503u
#define SLOPE 3u

/* The map x -> slope x + shift. */
typedef struct map {
    uint32_t slope;
    uint32_t shift;
} map_t;

static sb_status_t compose(const sb_operator_t *self, void *to, const void *const from[],
                           uint32_t n, size_t bytes)
{
    (void)self;
    for (size_t at = 0; at < bytes; at += sizeof(map_t)) {
        map_t all, next;
        memcpy(&all, (const char *)from[0] + at, sizeof all);
        for (uint32_t i = 1; i < n; i++) {
            memcpy(&next, (const char *)from[i] + at, sizeof next);
            all.shift += all.slope * next.shift;
            all.slope *= next.slope;
        }
        memcpy((char *)to + at, &all, sizeof all);
    }
    return SB_OK;
}

static sb_status_t add_words(const sb_operator_t *self, void *to, const void *const from[],
                             uint32_t n, size_t bytes)
{
    (void)self;
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t sum = 0, next;
        for (uint32_t i = 0; i < n; i++) {
            memcpy(&next, (const char *)from[i] + at, sizeof next);
            sum += next;
        }
        memcpy((char *)to + at, &sum, sizeof sum);
    }
    return SB_OK;
}

static sb_status_t add_bytes(const sb_operator_t *self, void *to, const void *const from[],
                             uint32_t n, size_t bytes)
{
    (void)self;
    for (size_t at = 0; at < bytes; at++) {
        unsigned char sum = 0;
        for (uint32_t i = 0; i < n; i++)
            sum = (unsigned char)(sum + ((const unsigned char *)from[i])[at]);
        ((unsigned char *)to)[at] = sum;
    }
    return SB_OK;
}

static const sb_operator_t maps = {.element = sizeof(map_t), .fold = compose};
static const sb_operator_t words = {
    .element = sizeof(uint64_t), .commutative = true, .fold = add_words};
static const sb_operator_t bytes_alone = {.element = 1, .commutative = true, .fold = add_bytes};

static const sb_operator_t *operator_of(const sb_reduction_case_t *call)
{
    if (call->bytes % sizeof(uint64_t) != 0)
        return &bytes_alone;
    return call->algorithm->reorders ? &words : &maps;
}

size_t sb_reduction_bytes(const sb_reduction_case_t *call)
{
    size_t whole = operator_of(call)->element * call->ranks;

    if (call->algorithm->collective != SB_REDUCE_SCATTER_BLOCK)
        return call->bytes;
    return (call->bytes + whole - 1) / whole * whole;
}

/* Elements before part i: even, or with half of all in one part and nothing in every third. */
static size_t part_begins(const sb_reduction_case_t *call, size_t elements, uint32_t i)
{
    uint32_t heavy = call->number % call->ranks;

    if (!call->uneven || call->algorithm->collective != SB_REDUCE_SCATTER)
        return elements * i / call->ranks;
    size_t light = elements / 2 * (i / 3 * 3) / call->ranks;
    return i == call->ranks ? elements : light + (i > heavy ? elements / 2 : 0);
}

static uint64_t value(const sb_reduction_case_t *call, uint64_t i, uint32_t rank)
{
    return i * STEP + (uint64_t)rank * RANK + call->number;
}

/* An element is a byte, or as long as a number. */
static uint64_t as_number(map_t map)
{
    uint64_t number;

    _Static_assert(sizeof map == sizeof number, "elements are bytes, or as long as a number");
    memcpy(&number, &map, sizeof number);
    return number;
}

/* Elements in a row: of words and bytes each is `step` more than the one before, of maps its shift
 * is. */
typedef struct row {
    const sb_operator_t *operation;
    uint32_t slope;
    uint64_t word; /* of the first */
    uint64_t step;
} row_t;

static uint64_t row_at(const row_t *row, uint64_t i)
{
    uint64_t word = row->word + i * row->step;

    return row->operation == &maps ? as_number((map_t){row->slope, (uint32_t)word}) : word;
}

static void fill(const sb_reduction_case_t *call, uint32_t rank, char *send)
{
    row_t row = {operator_of(call), SLOPE, value(call, 0, rank), STEP};
    size_t bytes = sb_reduction_bytes(call);

    for (size_t i = 0; i < bytes && row.operation == &bytes_alone; i++)
        send[i] = (char)row_at(&row, i);
    for (size_t i = 0; i < bytes / 8 && row.operation != &bytes_alone; i++) {
        uint64_t element = row_at(&row, i);
        memcpy(send + 8 * i, &element, 8);
    }
}

/* What this rank has to receive: bytes [from, to) of the combination of the first so many. */
static uint32_t expects(const sb_reduction_case_t *call, uint32_t rank, size_t *from, size_t *to)
{
    size_t element = operator_of(call)->element;
    size_t elements = sb_reduction_bytes(call) / element;

    *from = 0;
    *to = elements * element;
    switch (call->algorithm->collective) {
    case SB_REDUCE:
        return rank == call->root ? call->ranks : 0;
    case SB_SCAN:
        return rank + 1;
    case SB_EXSCAN:
        return rank;
    case SB_ALLREDUCE:
        return call->ranks;
    default:
        *from = part_begins(call, elements, rank) * element;
        *to = part_begins(call, elements, rank + 1) * element;
        return call->ranks;
    }
}

sb_reduction_t sb_reduction_lay(const sb_reduction_case_t *call, uint32_t rank, char *send,
                                char *receive, size_t *parts)
{
    size_t from, to, bytes = sb_reduction_bytes(call);
    size_t elements = bytes / operator_of(call)->element;
    bool given = call->algorithm->collective == SB_REDUCE_SCATTER;
    uint32_t sources = expects(call, rank, &from, &to);

    memset(receive, 0xee, bytes);
    fill(call, rank, call->in_place ? receive : send);
    for (uint32_t i = 0; given && i < call->ranks; i++)
        parts[i] = (part_begins(call, elements, i + 1) - part_begins(call, elements, i)) *
                   operator_of(call)->element;
    return (sb_reduction_t){.root = call->root,
                            .operation = operator_of(call),
                            .bytes = bytes,
                            .parts = given ? parts : NULL,
                            .send = call->in_place ? receive : send,
                            .receive = sources == 0 ? NULL : receive};
}

/* Sums over the first n ranks r of SLOPE^r, and of r SLOPE^r; or with 1 for SLOPE. */
typedef struct sums {
    uint64_t slope; /* SLOPE^n */
    uint64_t powers;
    uint64_t weighted;
} sums_t;

static sums_t sums_of(const sb_operator_t *operation, uint32_t n)
{
    uint64_t slope = operation == &maps ? SLOPE : 1;
    sums_t sums = {.slope = 1};

    for (uint32_t rank = 0; rank < n; rank++) {
        sums.powers += sums.slope;
        sums.weighted += sums.slope * rank;
        sums.slope *= slope;
    }
    return sums;
}

/* How many elements are right: looked for one by one only where some are not, as all that all
 * ranks receive is checked in every call. */
static size_t count_right(const char *from, size_t elements, const row_t *row)
{
    size_t element = row->operation->element, i = 0;
    uint64_t wrong = 0, found = 0;

    if (element == 1) {
        while (i < elements && (unsigned char)from[i] == (unsigned char)row_at(row, i))
            i++;
        return i;
    }
    for (; i < elements; i++) {
        memcpy(&found, from + i * element, sizeof found);
        wrong |= found ^ row_at(row, i);
    }
    for (i = wrong == 0 ? elements : 0; i < elements; i++) {
        memcpy(&found, from + i * element, sizeof found);
        if (found != row_at(row, i))
            break;
    }
    return i;
}

bool sb_reduction_check(const sb_reduction_case_t *call, uint32_t rank,
                        const sb_reduction_t *reduction, size_t *place)
{
    const sb_operator_t *operation = reduction->operation;
    size_t from, to;
    uint32_t sources = expects(call, rank, &from, &to);
    sums_t sums = sums_of(operation, sources);
    size_t elements = sources == 0 ? 0 : (to - from) / operation->element;
    row_t row = {operation, (uint32_t)sums.slope,
                 value(call, from / operation->element, 0) * sums.powers + RANK * sums.weighted,
                 STEP * sums.powers};
    size_t right = count_right(reduction->receive, elements, &row);

    *place = right * operation->element;
    return right == elements;
}
