/* SPDX-License-Identifier: BSD-3-Clause */
/* Private memory that begins on a line: zero, as long as asked for, and none beyond all bounds. */
#include "base/lines.h"

#include "testing.h"

/* What is given was used before, most likely, and is not zero by itself. */
static void leave_dirty(size_t bytes)
{
    void *dirty = malloc(bytes);

    assert_non_null(dirty);
    memset(dirty, 0xff, bytes);
    __asm__ __volatile__("" ::"r"(dirty) : "memory");
    free(dirty);
}

static void begins_on_a_line_and_is_zero(void **state)
{
    static const size_t lengths[] = {1, 63, 64, 65, 4096, 100001, SB_PAGES_LEAST, 200001};

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(lengths); i++) {
        leave_dirty(sb_round_up(lengths[i], SB_LINE));
        unsigned char *made = sb_alloc_lines(lengths[i]);
        assert_non_null(made);
        assert_int_equal((uintptr_t)made % SB_LINE, 0);
        for (size_t at = 0; at < lengths[i]; at++)
            assert_int_equal(made[at], 0);
        sb_free_lines(made, lengths[i]);
    }
}

static void none_is_beyond_all_bounds(void **state)
{
    (void)state;
    assert_null(sb_alloc_lines(SIZE_MAX));
    assert_null(sb_alloc_lines(SIZE_MAX - SB_LINE / 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(begins_on_a_line_and_is_zero),
                                       cmocka_unit_test(none_is_beyond_all_bounds)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
