/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines are taken ahead where that was the faster way. */
#include "testing.h"

#include "coll/vector/ahead.h"

#include <string.h>

/* Goes through a trial in which turns take so long without and with it, now and then far longer. */
static bool try(sb_ahead_t *ahead, uint64_t without, uint64_t with)
{
    static uint64_t now;
    uint32_t turn = 0;

    do {
        bool on = sb_ahead_turn(ahead, now);
        assert_int_equal(on, ahead->on);
        assert_true(ahead->left > 0);
        ahead->left = 0;
        now += (on ? with : without) + (turn % 3 == 0 ? 10000 : 0);
        turn++;
    } while (turn < 9);
    assert_int_equal(ahead->turns, 0);
    return ahead->on;
}

static void the_faster_way_is_kept(void **state)
{
    sb_ahead_t ahead = {0};

    (void)state;
    assert_false(try(&ahead, 1000, 2000));
    assert_true(try(&ahead, 2000, 1000));
    assert_false(try(&ahead, 1000, 1100));
}

/* Where the library turns to string instructions is just above 2 KiB on many processors. */
static void classes_end_at_powers_of_two(void **state)
{
    (void)state;
    assert_true(sb_ahead_class(2048) < sb_ahead_class(2049));
    assert_int_equal(sb_ahead_class(1025), sb_ahead_class(2048));
    assert_int_equal(sb_ahead_class(0), 0);
    assert_int_equal(sb_ahead_class(SIZE_MAX), SB_AHEAD_CLASSES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_faster_way_is_kept),
        cmocka_unit_test(classes_end_at_powers_of_two),
    };

    return cmocka_run_group_tests_name("ahead", tests, NULL, NULL);
}
