/* SPDX-License-Identifier: BSD-3-Clause */
#include "data/fold.h"

#include "base/compiler.h"
#include "data/fold_steps.h"

#include <pthread.h>
#include <string.h>

/* Of more sources than a step takes, so many bytes are combined at a time: a third of a small
 * first cache, so that they are still there for the next step. */
#define BLOCK_BYTES 4096
#define STEP_MOST 4
#define COPIED_BYTES ((size_t)1024)

/* An operator with what its fold needs. */
typedef struct folder {
    sb_operator_t operation;
    size_t unit;   /* bytes that the step counts by; */
    uint8_t shift; /* of a vector loop 1 << shift of them */
    uint8_t loop;  /* SB_LOOP_*, if `vector` */
    bool vector;
    sb_step_t *step; /* NULL: no such operator */
} folder_t;

/* A division here would follow the last arrival of every reduction. */
static size_t count_units(const folder_t *folder, size_t bytes)
{
    return SB_LIKELY(folder->vector) ? bytes >> folder->shift : bytes / folder->unit;
}

static folder_t folders[SB_OPERATIONS][SB_ELEMENTS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

const size_t sb_element_bytes[SB_ELEMENTS] = {
    [SB_INT8] = 1,
    [SB_INT16] = 2,
    [SB_INT32] = 4,
    [SB_INT64] = 8,
    [SB_UINT8] = 1,
    [SB_UINT16] = 2,
    [SB_UINT32] = 4,
    [SB_UINT64] = 8,
    [SB_LOGICAL8] = 1,
    [SB_LOGICAL16] = 2,
    [SB_LOGICAL32] = 4,
    [SB_LOGICAL64] = 8,
    [SB_FLOAT] = sizeof(float),
    [SB_DOUBLE] = sizeof(double),
    [SB_LONG_DOUBLE] = sizeof(long double),
    [SB_COMPLEX_FLOAT] = 2 * sizeof(float),
    [SB_COMPLEX_DOUBLE] = 2 * sizeof(double),
    [SB_COMPLEX_LONG_DOUBLE] = 2 * sizeof(long double),
    [SB_PAIR_SHORT] = sizeof(short) + sizeof(int),
    [SB_PAIR_INT] = 2 * sizeof(int),
    [SB_PAIR_LONG] = sizeof(long) + sizeof(int),
    [SB_PAIR_FLOAT] = sizeof(float) + sizeof(int),
    [SB_PAIR_DOUBLE] = sizeof(double) + sizeof(int),
    [SB_PAIR_LONG_DOUBLE] = sizeof(long double) + sizeof(int),
    [SB_PAIR_2FLOAT] = 2 * sizeof(float),
    [SB_PAIR_2DOUBLE] = 2 * sizeof(double),
};

/* What combines elements of each kind in the loops: 1 more than SB_LOOP_*, or 0. */
#define LOOP(name) (1 + SB_LOOP_##name)
#define UNSIGNED_LIKE(name)                                                                        \
    [SB_INT8] = LOOP(name##_8), [SB_INT16] = LOOP(name##_16), [SB_INT32] = LOOP(name##_32),        \
    [SB_INT64] = LOOP(name##_64), [SB_UINT8] = LOOP(name##_8), [SB_UINT16] = LOOP(name##_16),      \
    [SB_UINT32] = LOOP(name##_32), [SB_UINT64] = LOOP(name##_64)
#define ORDERED(name)                                                                              \
    [SB_INT8] = LOOP(name##_int8), [SB_INT16] = LOOP(name##_int16),                                \
    [SB_INT32] = LOOP(name##_int32), [SB_INT64] = LOOP(name##_int64),                              \
    [SB_UINT8] = LOOP(name##_uint8), [SB_UINT16] = LOOP(name##_uint16),                            \
    [SB_UINT32] = LOOP(name##_uint32), [SB_UINT64] = LOOP(name##_uint64),                          \
    [SB_FLOAT] = LOOP(name##_float), [SB_DOUBLE] = LOOP(name##_double)
#define BYTEWISE(name)                                                                             \
    [SB_INT8] = LOOP(name##_8), [SB_INT16] = LOOP(name##_8), [SB_INT32] = LOOP(name##_8),          \
    [SB_INT64] = LOOP(name##_8), [SB_UINT8] = LOOP(name##_8), [SB_UINT16] = LOOP(name##_8),        \
    [SB_UINT32] = LOOP(name##_8), [SB_UINT64] = LOOP(name##_8)

static const uint8_t loops[SB_OPERATIONS][SB_ELEMENTS] = {
    [SB_SUM] = {UNSIGNED_LIKE(sum), [SB_FLOAT] = LOOP(sum_float), [SB_DOUBLE] = LOOP(sum_double),
                [SB_COMPLEX_FLOAT] = LOOP(sum_float), [SB_COMPLEX_DOUBLE] = LOOP(sum_double)},
    [SB_PROD] = {UNSIGNED_LIKE(product), [SB_FLOAT] = LOOP(product_float),
                 [SB_DOUBLE] = LOOP(product_double)},
    [SB_MINIMUM] = {ORDERED(least)},
    [SB_MAXIMUM] = {ORDERED(greatest)},
    [SB_LAND] = {UNSIGNED_LIKE(both)},
    [SB_LOR] = {UNSIGNED_LIKE(either)},
    [SB_LXOR] = {UNSIGNED_LIKE(one)},
    [SB_BAND] = {BYTEWISE(and)},
    [SB_BOR] = {BYTEWISE(or)},
    [SB_BXOR] = {BYTEWISE(xor)},
};

/* Where the step counts by less than an element. */
static size_t unit_of(sb_operation_t operation, sb_element_t element)
{
    if (operation >= SB_BAND && operation <= SB_BXOR)
        return 1;
    if (element == SB_COMPLEX_FLOAT && operation == SB_SUM)
        return sizeof(float);
    if (element == SB_COMPLEX_DOUBLE && operation == SB_SUM)
        return sizeof(double);
    return sb_element_bytes[element];
}

/* A third source and further ones join what the ones before gave. */
static void fold_block(const folder_t *folder, char *to, const void *const from[], uint32_t n,
                       size_t at, size_t bytes)
{
    _Alignas(64) char held[BLOCK_BYTES];
    const void *some[STEP_MOST];
    uint32_t done = 0;

    for (uint32_t taken; done < n; done += taken) {
        uint32_t first = done == 0 ? 0 : 1;
        taken = n - done < STEP_MOST - first ? n - done : STEP_MOST - first;
        if (first == 1)
            some[0] = held;
        for (uint32_t k = 0; k < taken; k++)
            some[first + k] = (const char *)from[done + k] + at;
        folder->step(done + taken == n ? to + at : held, some, first + taken,
                     count_units(folder, bytes));
    }
}

/* In pieces for which the library has no use for string instructions: see machine/real/copy.c. */
static void copy_only(char *to, const char *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += COPIED_BYTES)
        memmove(to + at, from + at, sb_min(bytes - at, COPIED_BYTES));
}

static sb_status_t fold(const sb_operator_t *self, void *to, const void *const from[], uint32_t n,
                        size_t bytes)
{
    const folder_t *folder = self->context;

    if (n == 1) {
        copy_only(to, from[0], bytes);
        return SB_OK;
    }
    if (SB_LIKELY(n <= STEP_MOST)) {
        folder->step(to, from, n, count_units(folder, bytes));
        return SB_OK;
    }
    size_t block = BLOCK_BYTES / self->element * self->element;
    for (size_t at = 0; at < bytes; at += block)
        fold_block(folder, to, from, n, at, sb_min(block, bytes - at));
    return SB_OK;
}

static sb_step_t *const *const tables[SB_INSTRUCTIONS] = {
    [SB_BASELINE] = sb_fold_baseline,
#if defined(__x86_64__)
    [SB_AVX2] = sb_fold_avx2,
    [SB_AVX512] = sb_fold_avx512,
#endif
};

static void use(sb_step_t *const *table)
{
    for (int operation = 0; operation < SB_OPERATIONS; operation++) {
        for (int element = 0; element < SB_ELEMENTS; element++) {
            folder_t *folder = &folders[operation][element];
            if (folder->vector)
                folder->step = table[folder->loop];
        }
    }
}

static void fill(folder_t *folder, sb_operation_t operation, sb_element_t element)
{
    uint8_t loop = loops[operation][element];
    size_t unit = unit_of(operation, element);

    *folder = (folder_t){
        .operation = {.element = sb_element_bytes[element], .commutative = true, .fold = fold},
        .unit = unit,
        .shift = unit == 0 ? 0 : (uint8_t)__builtin_ctzl(unit),
        .vector = loop != 0,
        .loop = loop != 0 ? (uint8_t)(loop - 1) : 0,
        .step = sb_fold_scalar(operation, element),
    };
    folder->operation.context = folder;
}

static void start(void)
{
    for (int operation = 0; operation < SB_OPERATIONS; operation++) {
        for (int element = 0; element < SB_ELEMENTS; element++)
            fill(&folders[operation][element], (sb_operation_t)operation, (sb_element_t)element);
    }
    use(tables[sb_instructions_best()]);
}

const sb_operator_t *sb_fold_operator(sb_operation_t operation, sb_element_t element)
{
    pthread_once(&once, start);
    const folder_t *folder = &folders[operation][element];

    return folder->step == NULL ? NULL : &folder->operation;
}

bool sb_fold_use(sb_instructions_t set)
{
    if (!sb_instructions_known(set))
        return false;
    pthread_once(&once, start);
    use(tables[set]);
    return true;
}
