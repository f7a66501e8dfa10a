/* SPDX-License-Identifier: BSD-3-Clause */
/* The measured choice between two ways to write: played through messages with given prices. */
#include "testing.h"

#include "team/pace.h"

#define BYTES ((size_t)64 << 10)
/* Messages of a lap, and so of a trial of either way. */
#define LAP_CACHED 8
#define LAP_STREAMING 64
#define TRIAL_CACHED (2 * LAP_CACHED)
#define TRIAL_STREAMING (2 * LAP_STREAMING)
#define FIRST 8 /* messages before the first trial */

static const size_t laps[SB_WAYS] = {
    [SB_WAY_STREAMING] = LAP_STREAMING * BYTES, [SB_WAY_CACHED] = LAP_CACHED * BYTES};

/* What a message takes each way, in nanoseconds. */
typedef struct prices {
    uint64_t ns[SB_WAYS];
} prices_t;

typedef struct counts {
    unsigned of[SB_WAYS];
} counts_t;

static counts_t play_size(sb_pace_t *pace, size_t bytes, unsigned messages, prices_t prices)
{
    counts_t counts = {{0}};

    for (unsigned i = 0; i < messages; i++) {
        sb_step_t step = sb_pace_next(pace, bytes, laps);
        counts.of[step.way]++;
        if (step.timed)
            sb_pace_record(pace, bytes, &step, prices.ns[step.way]);
    }
    return counts;
}

static counts_t play(sb_pace_t *pace, unsigned messages, prices_t prices)
{
    return play_size(pace, BYTES, messages, prices);
}

static void starts_with_the_safe_way(void **state)
{
    (void)state;
    sb_pace_t pace = {0};
    counts_t counts = play(&pace, FIRST, (prices_t){{1000, 100}});

    assert_int_equal(counts.of[SB_WAY_CACHED], 0);
}

static void takes_the_way_that_is_faster(void **state)
{
    (void)state;
    sb_pace_t pace = {0};

    play(&pace, FIRST + TRIAL_CACHED, (prices_t){{1000, 500}});
    counts_t counts = play(&pace, 200, (prices_t){{1000, 500}});
    assert_int_equal(counts.of[SB_WAY_STREAMING], 0);
}

/* Every class has its first trial after a few messages, however late it comes in a run. */
static void learns_of_a_new_size_at_once(void **state)
{
    (void)state;
    sb_pace_t pace = {0};

    play_size(&pace, 16 * BYTES, 1000, (prices_t){{1000, 500}});
    counts_t counts = play(&pace, FIRST + TRIAL_CACHED + 50, (prices_t){{1000, 500}});
    assert_int_equal(counts.of[SB_WAY_STREAMING], FIRST);
}

static void keeps_the_safe_way_for_a_small_gain(void **state)
{
    (void)state;
    sb_pace_t pace = {0};

    play(&pace, 2000, (prices_t){{1000, 970}});
    counts_t counts = play(&pace, 400, (prices_t){{1000, 970}});
    assert_true(counts.of[SB_WAY_CACHED] <= TRIAL_CACHED);
}

/* The first messages of a new ring take long whatever the way: soon the first trial is repeated. */
static void a_misleading_start_is_mended(void **state)
{
    (void)state;
    sb_pace_t pace = {0};

    play(&pace, FIRST, (prices_t){{3000, 3000}});
    play(&pace, TRIAL_CACHED + 4 * TRIAL_STREAMING, (prices_t){{1000, 1400}});
    counts_t counts = play(&pace, 200, (prices_t){{1000, 1400}});
    assert_true(counts.of[SB_WAY_CACHED] <= TRIAL_CACHED);
}

static void breaks_a_bad_trial_off(void **state)
{
    (void)state;
    sb_pace_t pace = {0};
    counts_t counts = play(&pace, 500, (prices_t){{1000, 5000}});

    assert_in_range(counts.of[SB_WAY_CACHED], 1, 3);
}

/* Where one way is far worse, trying it costs less and less: here 4000 for each message more. */
static void bad_trials_become_rare(void **state)
{
    (void)state;
    sb_pace_t pace = {0};

    play(&pace, 10000, (prices_t){{1000, 5000}});
    counts_t counts = play(&pace, 10000, (prices_t){{1000, 5000}});
    assert_in_range(counts.of[SB_WAY_CACHED], 3, 12);
}

static void follows_a_machine_that_changes(void **state)
{
    (void)state;
    sb_pace_t pace = {0};

    play(&pace, 64, (prices_t){{1000, 300}});
    play(&pace, 100, (prices_t){{1000, 5000}});
    counts_t counts = play(&pace, 100, (prices_t){{1000, 5000}});
    assert_int_equal(counts.of[SB_WAY_CACHED], 0);
    play(&pace, 12000, (prices_t){{1000, 300}});
    counts = play(&pace, 500, (prices_t){{1000, 300}});
    assert_true(counts.of[SB_WAY_STREAMING] <= TRIAL_STREAMING);
}

/* What a trial finds counts, whatever was found before: here cached was far too slow. */
static void a_trial_forgets_the_last_one(void **state)
{
    (void)state;
    sb_pace_t pace = {0};

    play(&pace, FIRST + TRIAL_CACHED, (prices_t){{1000, 1900}});
    counts_t counts = play(&pace, 2000, (prices_t){{1000, 500}});
    assert_true(counts.of[SB_WAY_CACHED] > 1000);
}

/* The first lap of a trial shows the ring as the other way has left it. */
static void the_first_lap_does_not_count(void **state)
{
    (void)state;
    sb_pace_t pace = {0};

    play(&pace, FIRST, (prices_t){{1000, 500}});
    play(&pace, LAP_CACHED, (prices_t){{1000, 1900}});
    play(&pace, LAP_CACHED, (prices_t){{1000, 500}});
    assert_int_equal(sb_pace_next(&pace, BYTES, laps).way, SB_WAY_CACHED);
}

/* Readers that are always late tell nothing: nothing is tried, and few messages are timed. */
static void without_samples_nothing_is_tried(void **state)
{
    (void)state;
    sb_pace_t pace = {0};
    unsigned timed = 0;

    for (int i = 0; i < 1000; i++) {
        sb_step_t step = sb_pace_next(&pace, BYTES, laps);
        timed += step.timed;
        assert_int_equal(step.way, SB_WAY_STREAMING);
    }
    assert_in_range(timed, 100, 150);
}

static void sizes_are_judged_apart(void **state)
{
    (void)state;
    sb_pace_t pace = {0};

    play(&pace, FIRST + TRIAL_CACHED, (prices_t){{1000, 300}});
    assert_int_equal(sb_pace_next(&pace, BYTES, laps).way, SB_WAY_CACHED);
    assert_int_equal(sb_pace_next(&pace, 16 * BYTES, laps).way, SB_WAY_STREAMING);
}

/* One buffer, or two in turns, are known again; many in turns never are. Sizes are apart. */
static void knows_a_buffer_again(void **state)
{
    (void)state;
    sb_pace_seen_t seen = {0};
    char buffer[3] = {0};

    assert_false(sb_pace_again(&seen, BYTES, &buffer[0]));
    assert_true(sb_pace_again(&seen, BYTES, &buffer[0]));
    assert_false(sb_pace_again(&seen, 16 * BYTES, &buffer[0]));
    assert_false(sb_pace_again(&seen, BYTES, &buffer[1]));
    assert_true(sb_pace_again(&seen, BYTES, &buffer[0]));
    assert_true(sb_pace_again(&seen, BYTES, &buffer[1]));
    for (int i = 0; i < 6; i++)
        assert_int_equal(sb_pace_again(&seen, 2 * BYTES, &buffer[i % 3]), false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_with_the_safe_way),
        cmocka_unit_test(takes_the_way_that_is_faster),
        cmocka_unit_test(learns_of_a_new_size_at_once),
        cmocka_unit_test(keeps_the_safe_way_for_a_small_gain),
        cmocka_unit_test(a_misleading_start_is_mended),
        cmocka_unit_test(breaks_a_bad_trial_off),
        cmocka_unit_test(bad_trials_become_rare),
        cmocka_unit_test(follows_a_machine_that_changes),
        cmocka_unit_test(a_trial_forgets_the_last_one),
        cmocka_unit_test(the_first_lap_does_not_count),
        cmocka_unit_test(without_samples_nothing_is_tried),
        cmocka_unit_test(sizes_are_judged_apart),
        cmocka_unit_test(knows_a_buffer_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
