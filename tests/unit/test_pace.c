/* SPDX-License-Identifier: BSD-3-Clause */
/* The measured choice between two ways to write: played through turns with given prices. */
#include "testing.h"

#include "team/pace.h"

#define BYTES ((size_t)64 << 10)
#define MESSAGES_A_TURN 20

/* What a message takes each way, in nanoseconds. */
typedef struct prices {
    uint64_t ns[SB_WAYS];
} prices_t;

typedef struct counts {
    unsigned of[SB_WAYS];
} counts_t;

static counts_t play(sb_pace_t *pace, uint64_t first, uint64_t turns, prices_t prices)
{
    counts_t counts = {{0}};

    for (uint64_t turn = first; turn < first + turns; turn++) {
        for (uint64_t i = 0; i < MESSAGES_A_TURN; i++) {
            uint64_t use = turn * MESSAGES_A_TURN + i;
            sb_way_t way = sb_pace_choose(pace, BYTES, turn);
            counts.of[way]++;
            if (sb_pace_times(use, turn))
                sb_pace_record(pace, BYTES, way, turn, prices.ns[way]);
        }
    }
    return counts;
}

static void starts_with_the_safe_way(void **state)
{
    (void)state;
    sb_pace_t pace = {0};
    counts_t counts = play(&pace, 0, 1, (prices_t){{1000, 100}});

    assert_int_equal(counts.of[SB_WAY_CACHED], 0);
}

static void takes_the_way_that_is_faster(void **state)
{
    (void)state;
    sb_pace_t pace = {0};

    play(&pace, 0, 3, (prices_t){{1000, 500}});
    counts_t counts = play(&pace, 3, 60, (prices_t){{1000, 500}});
    assert_int_equal(counts.of[SB_WAY_STREAMING], 0);
}

static void keeps_the_safe_way_for_a_small_gain(void **state)
{
    (void)state;
    sb_pace_t pace = {0};

    play(&pace, 0, 3, (prices_t){{1000, 950}});
    counts_t counts = play(&pace, 3, 60, (prices_t){{1000, 950}});
    assert_int_equal(counts.of[SB_WAY_CACHED], 0);
}

static void breaks_a_bad_trial_off(void **state)
{
    (void)state;
    sb_pace_t pace = {0};
    counts_t counts = play(&pace, 0, 64, (prices_t){{1000, 5000}});

    assert_in_range(counts.of[SB_WAY_CACHED], 1, 5);
}

static void follows_a_machine_that_changes(void **state)
{
    (void)state;
    sb_pace_t pace = {0};

    play(&pace, 0, 64, (prices_t){{1000, 300}});
    play(&pace, 64, 10, (prices_t){{1000, 5000}});
    counts_t counts = play(&pace, 74, 40, (prices_t){{1000, 5000}});
    assert_int_equal(counts.of[SB_WAY_CACHED], 0);
    play(&pace, 114, 64, (prices_t){{1000, 300}});
    counts = play(&pace, 178, 10, (prices_t){{1000, 300}});
    assert_int_equal(counts.of[SB_WAY_STREAMING], 0);
}

static void sizes_are_judged_apart(void **state)
{
    (void)state;
    sb_pace_t pace = {0};

    play(&pace, 0, 3, (prices_t){{1000, 300}});
    assert_int_equal(sb_pace_choose(&pace, BYTES, 5), SB_WAY_CACHED);
    assert_int_equal(sb_pace_choose(&pace, 16 * BYTES, 5), SB_WAY_STREAMING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_with_the_safe_way),
        cmocka_unit_test(takes_the_way_that_is_faster),
        cmocka_unit_test(keeps_the_safe_way_for_a_small_gain),
        cmocka_unit_test(breaks_a_bad_trial_off),
        cmocka_unit_test(follows_a_machine_that_changes),
        cmocka_unit_test(sizes_are_judged_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
