/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loops that combine two, three or four sources, written once and compiled once for each set of
 * instructions (fold_baseline.c and its siblings, which define SB_FOLD_LOOPS, the table's name, and
 * have the compiler use the set). The compiler makes vectors of them: elements may lie at any
 * address, and may be stored over the source that they came from.
 */
#include "data/fold_steps.h"

#define LOOSE __attribute__((__aligned__(1), __may_alias__))

typedef int8_t LOOSE loose_int8;
typedef int16_t LOOSE loose_int16;
typedef int32_t LOOSE loose_int32;
typedef int64_t LOOSE loose_int64;
typedef uint8_t LOOSE loose_uint8;
typedef uint16_t LOOSE loose_uint16;
typedef uint32_t LOOSE loose_uint32;
typedef uint64_t LOOSE loose_uint64;
typedef float LOOSE loose_float;
typedef double LOOSE loose_double;

/* Nothing that one round stores is read by another, though the memory may be the same. */
#if defined(__clang__)
#define EACH _Pragma("clang loop vectorize(assume_safety)") for (size_t i = 0; i < count; i++)
#else
#define EACH _Pragma("GCC ivdep") for (size_t i = 0; i < count; i++)
#endif

#define LOOP(name, type, expression)                                                               \
    static inline __attribute__((__always_inline__)) type name##_of(type a, type b)                \
    {                                                                                              \
        return (type)(expression);                                                                 \
    }                                                                                              \
    static void name(void *to, const void *const from[], uint32_t n, size_t count)                 \
    {                                                                                              \
        loose_##type *r = to;                                                                      \
        const loose_##type *a = from[0], *b = from[1];                                             \
        const loose_##type *c = from[n > 2 ? 2 : 0], *d = from[n > 3 ? 3 : 0];                     \
                                                                                                   \
        if (n == 2)                                                                                \
            EACH r[i] = name##_of(a[i], b[i]);                                                     \
        else if (n == 3)                                                                           \
            EACH r[i] = name##_of(name##_of(a[i], b[i]), c[i]);                                    \
        else                                                                                       \
            EACH r[i] = name##_of(name##_of(name##_of(a[i], b[i]), c[i]), d[i]);                   \
    }

typedef int8_t int8;
typedef int16_t int16;
typedef int32_t int32;
typedef int64_t int64;
typedef uint8_t uint8;
typedef uint16_t uint16;
typedef uint32_t uint32;
typedef uint64_t uint64;

SB_VECTOR_LOOPS(LOOP)

#define ENTRY(name, type, expression) [SB_LOOP_##name] = name,

sb_step_t *const SB_FOLD_LOOPS[SB_VECTOR_LOOP_COUNT] = {SB_VECTOR_LOOPS(ENTRY)};
