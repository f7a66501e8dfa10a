/* SPDX-License-Identifier: BSD-3-Clause */
/* Every operation on every kind of element, by every set of instructions that this processor has,
 * against a plain loop: 1 to 17 sources, at every address, also over one of the sources. */
#include "../long_form.h"
#include "data/fold.h"
#include "machine/sim/random.h"
#include "testing.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCES = 17, LONGEST = 9000, ROOM = LONGEST + 128 };

static uint64_t state;

static uint64_t next_random(void)
{
    return sb_random_next(&state);
}

static size_t below(size_t limit)
{
    return (size_t)(next_random() % limit);
}

/* ---- what must come out: one element at a time, in plain C ---- */

/* Sets *a to a op b; false: there is no such operator. */
typedef bool reference_t(sb_operation_t operation, void *a, const void *b);

/* A narrow number may be promoted: whatever is computed is cut to the type again. */
#define INTEGER(name, type, wide)                                                                  \
    static bool name(sb_operation_t operation, void *to, const void *from)                         \
    {                                                                                              \
        type a, b;                                                                                 \
        memcpy(&a, to, sizeof a);                                                                  \
        memcpy(&b, from, sizeof b);                                                                \
        switch (operation) {                                                                       \
        case SB_SUM:                                                                               \
            a = (type)((wide)a + (wide)b);                                                         \
            break;                                                                                 \
        case SB_PROD:                                                                              \
            a = (type)((wide)a * (wide)b);                                                         \
            break;                                                                                 \
        case SB_MINIMUM:                                                                           \
            a = a < b ? a : b;                                                                     \
            break;                                                                                 \
        case SB_MAXIMUM:                                                                           \
            a = a > b ? a : b;                                                                     \
            break;                                                                                 \
        case SB_LAND:                                                                              \
            a = (type)(a && b);                                                                    \
            break;                                                                                 \
        case SB_LOR:                                                                               \
            a = (type)(a || b);                                                                    \
            break;                                                                                 \
        case SB_LXOR:                                                                              \
            a = (type)(!a != !b);                                                                  \
            break;                                                                                 \
        case SB_BAND:                                                                              \
            a = (type)(a & b);                                                                     \
            break;                                                                                 \
        case SB_BOR:                                                                               \
            a = (type)(a | b);                                                                     \
            break;                                                                                 \
        case SB_BXOR:                                                                              \
            a = (type)(a ^ b);                                                                     \
            break;                                                                                 \
        default:                                                                                   \
            return false;                                                                          \
        }                                                                                          \
        memcpy(to, &a, sizeof a);                                                                  \
        return true;                                                                               \
    }

#define LOGICAL(name, type)                                                                        \
    static bool name(sb_operation_t operation, void *to, const void *from)                         \
    {                                                                                              \
        type a, b;                                                                                 \
        memcpy(&a, to, sizeof a);                                                                  \
        memcpy(&b, from, sizeof b);                                                                \
        if (operation < SB_LAND || operation > SB_LXOR)                                            \
            return false;                                                                          \
        bool is = operation == SB_LAND ? a && b : operation == SB_LOR ? a || b : !a != !b;         \
        type kept = a != 0 ? a : b;                                                                \
        a = is ? kept : 0;                                                                         \
        memcpy(to, &a, sizeof a);                                                                  \
        return true;                                                                               \
    }

#define REAL(name, type, used)                                                                     \
    static bool name(sb_operation_t operation, void *to, const void *from)                         \
    {                                                                                              \
        type a, b;                                                                                 \
        memcpy(&a, to, sizeof a);                                                                  \
        memcpy(&b, from, sizeof b);                                                                \
        switch (operation) {                                                                       \
        case SB_SUM:                                                                               \
            a += b;                                                                                \
            break;                                                                                 \
        case SB_PROD:                                                                              \
            a *= b;                                                                                \
            break;                                                                                 \
        case SB_MINIMUM:                                                                           \
            if (b < a)                                                                             \
                a = b;                                                                             \
            break;                                                                                 \
        case SB_MAXIMUM:                                                                           \
            if (b > a)                                                                             \
                a = b;                                                                             \
            break;                                                                                 \
        default:                                                                                   \
            return false;                                                                          \
        }                                                                                          \
        memcpy(to, &a, used);                                                                      \
        memset((char *)to + (used), 0, sizeof a - (used));                                         \
        return true;                                                                               \
    }

#define LONG_USED (LDBL_MANT_DIG == 64 ? 10 : sizeof(long double))

#define COMPLEX(name, type, part, used)                                                            \
    static bool name(sb_operation_t operation, void *to, const void *from)                         \
    {                                                                                              \
        type _Complex a, b;                                                                        \
        memcpy(&a, to, sizeof a);                                                                  \
        memcpy(&b, from, sizeof b);                                                                \
        if (operation != SB_SUM && operation != SB_PROD)                                           \
            return false;                                                                          \
        a = operation == SB_SUM ? a + b : a * b;                                                   \
        type real = creal##part(a), imaginary = cimag##part(a);                                    \
        memset(to, 0, sizeof a);                                                                   \
        memcpy(to, &real, used);                                                                   \
        memcpy((char *)to + sizeof real, &imaginary, used);                                        \
        return true;                                                                               \
    }

#define PAIR(name, value_type, index_type, used)                                                   \
    static bool name(sb_operation_t operation, void *to, const void *from)                         \
    {                                                                                              \
        value_type a, b;                                                                           \
        index_type i, j;                                                                           \
        memcpy(&a, to, sizeof a);                                                                  \
        memcpy(&b, from, sizeof b);                                                                \
        memcpy(&i, (char *)to + sizeof a, sizeof i);                                               \
        memcpy(&j, (const char *)from + sizeof b, sizeof j);                                       \
        if (operation != SB_MINLOC && operation != SB_MAXLOC)                                      \
            return false;                                                                          \
        bool better = operation == SB_MINLOC ? b < a : b > a;                                      \
        if (better || (a == b && j < i)) {                                                         \
            a = b;                                                                                 \
            i = j;                                                                                 \
        }                                                                                          \
        memset(to, 0, sizeof a);                                                                   \
        memcpy(to, &a, used);                                                                      \
        memcpy((char *)to + sizeof a, &i, sizeof i);                                               \
        return true;                                                                               \
    }

INTEGER(int8, int8_t, uint32_t)
INTEGER(int16, int16_t, uint32_t)
INTEGER(int32, int32_t, uint32_t)
INTEGER(int64, int64_t, uint64_t)
INTEGER(uint8, uint8_t, uint32_t)
INTEGER(uint16, uint16_t, uint32_t)
INTEGER(uint32, uint32_t, uint32_t)
INTEGER(uint64, uint64_t, uint64_t)
LOGICAL(logical8, uint8_t)
LOGICAL(logical16, uint16_t)
LOGICAL(logical32, uint32_t)
LOGICAL(logical64, uint64_t)
REAL(single, float, sizeof(float))
REAL(twice, double, sizeof(double))
REAL(longer, long double, LONG_USED)
COMPLEX(complex_single, float, f, sizeof(float))
COMPLEX(complex_twice, double, , sizeof(double))
COMPLEX(complex_longer, long double, l, LONG_USED)
PAIR(pair_short, short, int, sizeof(short))
PAIR(pair_int, int, int, sizeof(int))
PAIR(pair_long, long, int, sizeof(long))
PAIR(pair_float, float, int, sizeof(float))
PAIR(pair_double, double, int, sizeof(double))
PAIR(pair_long_double, long double, int, LONG_USED)
PAIR(pair_2float, float, float, sizeof(float))
PAIR(pair_2double, double, double, sizeof(double))

/* What an element is made of: so many values of this kind, or a value and its index. */
typedef enum shape { WHOLE, FLOATS, DOUBLES, LONG_DOUBLES, SMALL, PAIR_OF } shape_t;

static const struct {
    reference_t *combine;
    size_t bytes;
    shape_t shape;
    size_t value; /* bytes of a pair's value */
    shape_t index;
} kinds[SB_ELEMENTS] = {
    [SB_INT8] = {int8, 1, SMALL, 0, 0},
    [SB_INT16] = {int16, 2, WHOLE, 0, 0},
    [SB_INT32] = {int32, 4, WHOLE, 0, 0},
    [SB_INT64] = {int64, 8, WHOLE, 0, 0},
    [SB_UINT8] = {uint8, 1, SMALL, 0, 0},
    [SB_UINT16] = {uint16, 2, WHOLE, 0, 0},
    [SB_UINT32] = {uint32, 4, WHOLE, 0, 0},
    [SB_UINT64] = {uint64, 8, WHOLE, 0, 0},
    [SB_LOGICAL8] = {logical8, 1, SMALL, 0, 0},
    [SB_LOGICAL16] = {logical16, 2, SMALL, 0, 0},
    [SB_LOGICAL32] = {logical32, 4, SMALL, 0, 0},
    [SB_LOGICAL64] = {logical64, 8, SMALL, 0, 0},
    [SB_FLOAT] = {single, sizeof(float), FLOATS, 0, 0},
    [SB_DOUBLE] = {twice, sizeof(double), DOUBLES, 0, 0},
    [SB_LONG_DOUBLE] = {longer, sizeof(long double), LONG_DOUBLES, 0, 0},
    [SB_COMPLEX_FLOAT] = {complex_single, 2 * sizeof(float), FLOATS, 0, 0},
    [SB_COMPLEX_DOUBLE] = {complex_twice, 2 * sizeof(double), DOUBLES, 0, 0},
    [SB_COMPLEX_LONG_DOUBLE] = {complex_longer, 2 * sizeof(long double), LONG_DOUBLES, 0, 0},
    [SB_PAIR_SHORT] = {pair_short, 2 + sizeof(int), PAIR_OF, 2, SMALL},
    [SB_PAIR_INT] = {pair_int, 4 + sizeof(int), PAIR_OF, 4, SMALL},
    [SB_PAIR_LONG] = {pair_long, sizeof(long) + sizeof(int), PAIR_OF, sizeof(long), SMALL},
    [SB_PAIR_FLOAT] = {pair_float, 4 + sizeof(int), PAIR_OF, 4, FLOATS},
    [SB_PAIR_DOUBLE] = {pair_double, 8 + sizeof(int), PAIR_OF, 8, DOUBLES},
    [SB_PAIR_LONG_DOUBLE] = {pair_long_double, sizeof(long double) + sizeof(int), PAIR_OF,
                             sizeof(long double), LONG_DOUBLES},
    [SB_PAIR_2FLOAT] = {pair_2float, 8, FLOATS, 0, 0},
    [SB_PAIR_2DOUBLE] = {pair_2double, 16, DOUBLES, 0, 0},
};

/* Few values, so that there are ties; zeros of both signs, and numbers that are none. */
static double draw_real(bool plain)
{
    static const double odd[] = {0.0, -0.0, 1.0, -1.0, INFINITY, NAN, 0.5, 2.0};

    if (!plain && below(8) == 0)
        return odd[below(8)];
    return (double)(int64_t)below(2000) / 7 - 140;
}

static void draw_values(char *at, size_t bytes, shape_t shape, bool plain)
{
    for (size_t i = 0; shape == FLOATS && i < bytes; i += sizeof(float)) {
        float value = (float)draw_real(plain);
        memcpy(at + i, &value, sizeof value);
    }
    for (size_t i = 0; shape == DOUBLES && i < bytes; i += sizeof(double)) {
        double value = draw_real(plain);
        memcpy(at + i, &value, sizeof value);
    }
    for (size_t i = 0; shape == LONG_DOUBLES && i < bytes; i += sizeof(long double)) {
        long double value = (long double)draw_real(plain);
        memset(at + i, 0, sizeof value);
        memcpy(at + i, &value, LONG_USED);
    }
    for (size_t i = 0; (shape == WHOLE || shape == SMALL) && i < bytes; i++)
        at[i] = (char)(shape == WHOLE ? next_random() : i % 4 == 0 ? below(3) : 0);
}

/* The sign of a NaN that is computed depends on the order of operands that C leaves open: sums and
 * products are drawn without any. */
static void draw_element(char *at, sb_element_t element, bool plain)
{
    if (kinds[element].shape != PAIR_OF) {
        draw_values(at, kinds[element].bytes, kinds[element].shape, plain);
        return;
    }
    draw_values(at, kinds[element].value, kinds[element].index, plain);
    int index = (int)below(5) - 2;
    memcpy(at + kinds[element].value, &index, sizeof index);
}

/* ---- one draw ---- */

static char memory[SOURCES + 1][ROOM], expected[ROOM], before[ROOM];

static void check(sb_operation_t operation, sb_element_t element, uint32_t n, size_t count)
{
    const sb_operator_t *combination = sb_fold_operator(operation, element);
    size_t each = kinds[element].bytes, bytes = count * each;
    bool plain = operation == SB_SUM || operation == SB_PROD;
    uint32_t target = below(3) == 0 ? (uint32_t)below(n) : SOURCES;
    const void *from[SOURCES];
    char *to = memory[target] + below(64);

    for (uint32_t k = 0; k < n; k++) {
        char *at = k == target ? to : memory[k] + below(64);
        for (size_t i = 0; i < count; i++)
            draw_element(at + i * each, element, plain);
        from[k] = at;
    }
    memcpy(expected, from[0], bytes);
    for (uint32_t k = 1; k < n; k++)
        for (size_t i = 0; i < bytes; i += each)
            kinds[element].combine(operation, expected + i, (const char *)from[k] + i);
    memcpy(before, memory[target], ROOM);
    assert_int_equal(combination->fold(combination, to, from, n, bytes), SB_OK);
    for (size_t i = 0; i < bytes; i++) {
        if (to[i] != expected[i])
            fail_msg("operation %d, element %d, %u sources, %zu elements: byte %zu", operation,
                     element, n, count, i);
    }
    memcpy(before + (to - memory[target]), to, bytes);
    assert_memory_equal(before, memory[target], ROOM);
}

static void check_all(void)
{
    for (sb_operation_t operation = 0; operation < SB_OPERATIONS; operation++) {
        for (sb_element_t element = 1; element < SB_ELEMENTS; element++) {
            if (sb_fold_operator(operation, element) == NULL)
                continue;
            size_t most = LONGEST / kinds[element].bytes;
            bool few = takes_few();
            for (uint32_t n = 1; n <= SOURCES; n += few && n > 4 ? 4 : 1) {
                check(operation, element, n, below(70));
                if (n % 4 == 1)
                    check(operation, element, n, below(most));
            }
        }
    }
}

static void test_every_operator(void **unused)
{
    (void)unused;
    for (sb_instructions_t set = 0; set < SB_INSTRUCTIONS; set++) {
        state = 20240611 + set;
        if (sb_fold_use(set))
            check_all();
        else
            print_message("instructions %d: not here\n", set);
    }
}

/* There is an operator where, and only where, the reference knows one. */
static void test_what_there_is(void **unused)
{
    (void)unused;
    assert_null(sb_fold_operator(SB_SUM, SB_NO_ELEMENT));
    for (sb_operation_t operation = 0; operation < SB_OPERATIONS; operation++) {
        for (sb_element_t element = 1; element < SB_ELEMENTS; element++) {
            char a[64] = {0}, b[64] = {0};
            const sb_operator_t *combination = sb_fold_operator(operation, element);
            assert_int_equal(combination != NULL, kinds[element].combine(operation, a, b));
            if (combination != NULL) {
                assert_int_equal(combination->element, kinds[element].bytes);
                assert_true(combination->commutative);
            }
        }
    }
}

/* The same sum, cut at any place between elements, has the same bits. */
static void test_cuts(void **unused)
{
    const sb_operator_t *sum = sb_fold_operator(SB_SUM, SB_DOUBLE);
    const void *from[SOURCES];

    (void)unused;
    for (int k = 0; k < SOURCES; k++) {
        draw_values(memory[k], LONGEST / 8 * 8, DOUBLES, true);
        from[k] = memory[k];
    }
    sum->fold(sum, expected, from, SOURCES, 8000);
    for (size_t at = 0, some; at < 8000; at += some) {
        some = 8 * (1 + below(100));
        some = some < 8000 - at ? some : 8000 - at;
        for (int k = 0; k < SOURCES; k++)
            from[k] = memory[k] + at;
        sum->fold(sum, before + at, from, SOURCES, some);
    }
    assert_memory_equal(before, expected, 8000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operator),
        cmocka_unit_test(test_what_there_is),
        cmocka_unit_test(test_cuts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
