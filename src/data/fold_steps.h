/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_DATA_FOLD_STEPS_H
#define SB_DATA_FOLD_STEPS_H

#include "data/fold.h"

/*
 * One step of a fold: `to` becomes the combination of 2 to 4 sources, from left to right, of
 * `count` units each. A unit is what the loop counts by, which is not always the element: a sum of
 * complex numbers is a sum of their parts.
 */
typedef void sb_step_t(void *to, const void *const from[], uint32_t n, size_t count);

/* What is compiled for each set of instructions: name, type of the unit, left operand a with b.
 * Narrow unsigned numbers are multiplied as wide ones: as int they could overflow. */
#define SB_VECTOR_LOOPS(X)                                                                         \
    X(sum_8, uint8, a + b)                                                                         \
    X(sum_16, uint16, a + b)                                                                       \
    X(sum_32, uint32, a + b)                                                                       \
    X(sum_64, uint64, a + b)                                                                       \
    X(sum_float, float, a + b)                                                                     \
    X(sum_double, double, a + b)                                                                   \
    X(product_8, uint8, (a) * (b))                                                                 \
    X(product_16, uint16, (uint32_t)(a) * (b))                                                     \
    X(product_32, uint32, (a) * (b))                                                               \
    X(product_64, uint64, (a) * (b))                                                               \
    X(product_float, float, (a) * (b))                                                             \
    X(product_double, double, (a) * (b))                                                           \
    X(least_int8, int8, b < a ? b : a)                                                             \
    X(least_int16, int16, b < a ? b : a)                                                           \
    X(least_int32, int32, b < a ? b : a)                                                           \
    X(least_int64, int64, b < a ? b : a)                                                           \
    X(least_uint8, uint8, b < a ? b : a)                                                           \
    X(least_uint16, uint16, b < a ? b : a)                                                         \
    X(least_uint32, uint32, b < a ? b : a)                                                         \
    X(least_uint64, uint64, b < a ? b : a)                                                         \
    X(least_float, float, b < a ? b : a)                                                           \
    X(least_double, double, b < a ? b : a)                                                         \
    X(greatest_int8, int8, b > a ? b : a)                                                          \
    X(greatest_int16, int16, b > a ? b : a)                                                        \
    X(greatest_int32, int32, b > a ? b : a)                                                        \
    X(greatest_int64, int64, b > a ? b : a)                                                        \
    X(greatest_uint8, uint8, b > a ? b : a)                                                        \
    X(greatest_uint16, uint16, b > a ? b : a)                                                      \
    X(greatest_uint32, uint32, b > a ? b : a)                                                      \
    X(greatest_uint64, uint64, b > a ? b : a)                                                      \
    X(greatest_float, float, b > a ? b : a)                                                        \
    X(greatest_double, double, b > a ? b : a)                                                      \
    X(both_8, uint8, (a != 0) & (b != 0))                                                          \
    X(both_16, uint16, (a != 0) & (b != 0))                                                        \
    X(both_32, uint32, (a != 0) & (b != 0))                                                        \
    X(both_64, uint64, (a != 0) & (b != 0))                                                        \
    X(either_8, uint8, (a | b) != 0)                                                               \
    X(either_16, uint16, (a | b) != 0)                                                             \
    X(either_32, uint32, (a | b) != 0)                                                             \
    X(either_64, uint64, (a | b) != 0)                                                             \
    X(one_8, uint8, (a != 0) ^ (b != 0))                                                           \
    X(one_16, uint16, (a != 0) ^ (b != 0))                                                         \
    X(one_32, uint32, (a != 0) ^ (b != 0))                                                         \
    X(one_64, uint64, (a != 0) ^ (b != 0))                                                         \
    X(and_8, uint8, (a) & (b))                                                                     \
    X(or_8, uint8, a | b)                                                                          \
    X(xor_8, uint8, a ^ b)

enum {
#define SB_LOOP_ENUMERATOR(name, type, expression) SB_LOOP_##name,
    SB_VECTOR_LOOPS(SB_LOOP_ENUMERATOR)
#undef SB_LOOP_ENUMERATOR
        SB_VECTOR_LOOP_COUNT
};

/* The tables of these, by SB_LOOP_*. */
extern sb_step_t *const sb_fold_baseline[SB_VECTOR_LOOP_COUNT];
#if defined(__x86_64__)
extern sb_step_t *const sb_fold_avx2[SB_VECTOR_LOOP_COUNT];
extern sb_step_t *const sb_fold_avx512[SB_VECTOR_LOOP_COUNT];
#endif

/* What no vector helps with: whole elements are the units. NULL: no such loop. */
sb_step_t *sb_fold_scalar(sb_operation_t operation, sb_element_t element);

#endif
