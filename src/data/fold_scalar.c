/* SPDX-License-Identifier: BSD-3-Clause */
/* Combining elements that vectors do not help with: long double, products of complex numbers,
 * Fortran's logicals, and pairs. Elements are copied out and in, as they lie at any address. */
#include "data/fold_steps.h"

#include <complex.h>
#include <float.h>
#include <string.h>

/* `get` and `put` move an element between memory and a variable of `type`. */
#define LOOP(name, type, bytes, get, put, ...)                                                     \
    static void name(void *to, const void *const from[], uint32_t n, size_t count)                 \
    {                                                                                              \
        for (size_t at = 0; at < count * (bytes); at += (bytes)) {                                 \
            type a = get((const char *)from[0] + at);                                              \
            for (uint32_t k = 1; k < n; k++) {                                                     \
                type b = get((const char *)from[k] + at);                                          \
                a = (__VA_ARGS__);                                                                 \
            }                                                                                      \
            put((char *)to + at, &a);                                                              \
        }                                                                                          \
    }

/* ---- numbers ---- */

/* On x86 a long double fills 10 of its 16 bytes; the rest is made 0, so that all bytes are alike
 * on all ranks. */
#define LONG_DOUBLE_BYTES (LDBL_MANT_DIG == 64 ? 10 : sizeof(long double))

static inline long double get_long_double(const char *at)
{
    long double value;

    memcpy(&value, at, sizeof value);
    return value;
}

static inline void put_long_double(char *at, const long double *value)
{
    memset(at + LONG_DOUBLE_BYTES, 0, sizeof *value - LONG_DOUBLE_BYTES);
    memcpy(at, value, LONG_DOUBLE_BYTES);
}

static inline long double _Complex get_long_complex(const char *at)
{
    return CMPLXL(get_long_double(at), get_long_double(at + sizeof(long double)));
}

static inline void put_long_complex(char *at, const long double _Complex *value)
{
    long double real = creall(*value), imaginary = cimagl(*value);

    put_long_double(at, &real);
    put_long_double(at + sizeof real, &imaginary);
}

#define PLAIN(name, type)                                                                          \
    static inline type get_##name(const char *at)                                                  \
    {                                                                                              \
        type value;                                                                                \
                                                                                                   \
        memcpy(&value, at, sizeof value);                                                          \
        return value;                                                                              \
    }                                                                                              \
    static inline void put_##name(char *at, const type *value)                                     \
    {                                                                                              \
        memcpy(at, value, sizeof *value);                                                          \
    }

PLAIN(complex_float, float _Complex)
PLAIN(complex_double, double _Complex)
PLAIN(uint8, uint8_t)
PLAIN(uint16, uint16_t)
PLAIN(uint32, uint32_t)
PLAIN(uint64, uint64_t)

#define LONG_LOOP(name, ...)                                                                       \
    LOOP(name, long double, sizeof(long double), get_long_double, put_long_double, __VA_ARGS__)
#define LONG_COMPLEX_LOOP(name, ...)                                                               \
    LOOP(name, long double _Complex, 2 * sizeof(long double), get_long_complex, put_long_complex,  \
         __VA_ARGS__)

LONG_LOOP(sum_long_double, a + b)
LONG_LOOP(product_long_double, (a) * (b))
LONG_LOOP(least_long_double, b < a ? b : a)
LONG_LOOP(greatest_long_double, b > a ? b : a)
LONG_COMPLEX_LOOP(sum_complex_long_double, a + b)
LONG_COMPLEX_LOOP(product_complex_long_double, (a) * (b))
LOOP(product_complex_float, float _Complex, sizeof(float _Complex), get_complex_float,
     put_complex_float, (a) * (b))
LOOP(product_complex_double, double _Complex, sizeof(double _Complex), get_complex_double,
     put_complex_double, (a) * (b))

/* ---- logicals ---- */

#define LOGICAL_LOOPS(bits)                                                                        \
    LOOP(both_logical##bits, uint##bits##_t, sizeof(uint##bits##_t), get_uint##bits,               \
         put_uint##bits, (uint##bits##_t)(b != 0 ? a : 0))                                         \
    LOOP(either_logical##bits, uint##bits##_t, sizeof(uint##bits##_t), get_uint##bits,             \
         put_uint##bits, (uint##bits##_t)(a != 0 ? a : b))                                         \
    LOOP(one_logical##bits, uint##bits##_t, sizeof(uint##bits##_t), get_uint##bits,                \
         put_uint##bits,                                                                           \
         (uint##bits##_t)(a == 0   ? b                                                             \
                          : b == 0 ? a                                                             \
                                   : 0))

LOGICAL_LOOPS(8)
LOGICAL_LOOPS(16)
LOGICAL_LOOPS(32)
LOGICAL_LOOPS(64)

/* ---- pairs ---- */

#define PAIR_LOOPS(name, value_type, index_type, get_value, put_value)                             \
    typedef struct name {                                                                          \
        value_type value;                                                                          \
        index_type index;                                                                          \
    } name##_t;                                                                                    \
    static inline name##_t get_##name(const char *at)                                              \
    {                                                                                              \
        name##_t pair = {.value = get_value(at)};                                                  \
                                                                                                   \
        memcpy(&pair.index, at + sizeof pair.value, sizeof pair.index);                            \
        return pair;                                                                               \
    }                                                                                              \
    static inline void put_##name(char *at, const name##_t *pair)                                  \
    {                                                                                              \
        put_value(at, &pair->value);                                                               \
        memcpy(at + sizeof pair->value, &pair->index, sizeof pair->index);                         \
    }                                                                                              \
    LOOP(minloc_##name, name##_t, sizeof(value_type) + sizeof(index_type), get_##name, put_##name, \
         b.value < a.value || (b.value == a.value && b.index < a.index) ? b : a)                   \
    LOOP(maxloc_##name, name##_t, sizeof(value_type) + sizeof(index_type), get_##name, put_##name, \
         b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a)

PLAIN(short, short)
PLAIN(int, int)
PLAIN(long, long)
PLAIN(float, float)
PLAIN(double, double)

PAIR_LOOPS(pair_short, short, int, get_short, put_short)
PAIR_LOOPS(pair_int, int, int, get_int, put_int)
PAIR_LOOPS(pair_long, long, int, get_long, put_long)
PAIR_LOOPS(pair_float, float, int, get_float, put_float)
PAIR_LOOPS(pair_double, double, int, get_double, put_double)
PAIR_LOOPS(pair_long_double, long double, int, get_long_double, put_long_double)
PAIR_LOOPS(pair_2float, float, float, get_float, put_float)
PAIR_LOOPS(pair_2double, double, double, get_double, put_double)

/* ---- all of them ---- */

#define LOGICALS(name)                                                                             \
    [SB_LOGICAL8] = name##_logical8, [SB_LOGICAL16] = name##_logical16,                            \
    [SB_LOGICAL32] = name##_logical32, [SB_LOGICAL64] = name##_logical64
#define PAIRS(name)                                                                                \
    [SB_PAIR_SHORT] = name##_pair_short, [SB_PAIR_INT] = name##_pair_int,                          \
    [SB_PAIR_LONG] = name##_pair_long, [SB_PAIR_FLOAT] = name##_pair_float,                        \
    [SB_PAIR_DOUBLE] = name##_pair_double, [SB_PAIR_LONG_DOUBLE] = name##_pair_long_double,        \
    [SB_PAIR_2FLOAT] = name##_pair_2float, [SB_PAIR_2DOUBLE] = name##_pair_2double

static sb_step_t *const steps[SB_OPERATIONS][SB_ELEMENTS] = {
    [SB_SUM] =
        {[SB_LONG_DOUBLE] = sum_long_double, [SB_COMPLEX_LONG_DOUBLE] = sum_complex_long_double},
    [SB_PROD] = {[SB_LONG_DOUBLE] = product_long_double,
                 [SB_COMPLEX_FLOAT] = product_complex_float,
                 [SB_COMPLEX_DOUBLE] = product_complex_double,
                 [SB_COMPLEX_LONG_DOUBLE] = product_complex_long_double},
    [SB_MINIMUM] = {[SB_LONG_DOUBLE] = least_long_double},
    [SB_MAXIMUM] = {[SB_LONG_DOUBLE] = greatest_long_double},
    [SB_LAND] = {LOGICALS(both)},
    [SB_LOR] = {LOGICALS(either)},
    [SB_LXOR] = {LOGICALS(one)},
    [SB_MINLOC] = {PAIRS(minloc)},
    [SB_MAXLOC] = {PAIRS(maxloc)},
};

sb_step_t *sb_fold_scalar(sb_operation_t operation, sb_element_t element)
{
    return steps[operation][element];
}
