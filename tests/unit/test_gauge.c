/* SPDX-License-Identifier: BSD-3-Clause */
/* What lines and bytes cost between processes is measured for no longer than a job may wait. */
#include "testing.h"

#include "base/middle.h"
#include "machine/machine.h"

/* By a clock that goes on by so much at each look. */
static uint64_t now_ns, look_ns;

static uint64_t made_up_now(void)
{
    return now_ns += look_ns;
}

#define sb_now_ns made_up_now
#include "segment/gauge.c"

enum { RANKS = PARTNERS_MOST + 1 };

static bool everybody(uint32_t rank)
{
    return rank < RANKS;
}

/* One process of the others, who have answered all that it will ask. Returns how many it has asked
 * for their answers, the last one perhaps in vain. */
static uint64_t take(uint64_t each_look, uint64_t *took, sb_gauge_result_t *result)
{
    sb_gauge_t *gauge = aligned_alloc(_Alignof(sb_gauge_t), sb_gauge_bytes(RANKS));

    assert_non_null(gauge);
    memset((void *)gauge, 0, sb_gauge_bytes(RANKS));
    for (uint32_t rank = 1; rank < RANKS; rank++)
        sb_flag_publish(&gauge->pong[rank].flag, (uint64_t)RANKS << 32);
    look_ns = each_look;
    uint64_t began = now_ns;
    assert_true(sb_gauge_take(gauge, 0, RANKS, everybody, result));
    *took = now_ns - began;
    uint64_t last = sb_flag_read(&gauge->call.flag);
    assert_int_equal((uint32_t)last, OVER); /* so that nobody waits for more */
    free(gauge);
    return (last >> 32) - 1;
}

static void all_partners_are_asked(void **state)
{
    sb_gauge_result_t result;
    uint64_t took;

    (void)state;
    assert_int_equal(take(1000, &took, &result), PARTNERS_MOST);
    assert_true(result.line > 0);
    assert_true(took < SB_GAUGE_NS);
}

static void answers_that_take_too_long_end_it_in_time(void **state)
{
    sb_gauge_result_t result;
    uint64_t took;

    (void)state;
    for (uint64_t look = 40000; look <= 320000; look *= 2) {
        assert_true(take(look, &took, &result) <= PARTNERS_MOST);
        assert_true(result.line == 0 && result.next_line == 0 && result.byte == 0);
        assert_true(took > SB_GAUGE_NS / 2 && took <= SB_GAUGE_NS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_partners_are_asked),
        cmocka_unit_test(answers_that_take_too_long_end_it_in_time),
    };

    return cmocka_run_group_tests_name("gauge", tests, NULL, NULL);
}
