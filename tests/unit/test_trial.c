/* SPDX-License-Identifier: BSD-3-Clause */
/* Trials of the host against Sobor: played through calls with given prices. */
#include "../random.h"
#include "testing.h"

#include "base/config.h"
#include "coll/bcast/bcast.h"
#include "select/select.h"
#include "select/trial.h"

#include <string.h>

#define RANKS 4

/* What a call takes, in nanoseconds. */
typedef struct prices {
    uint64_t sobor, host;
    unsigned spoilt; /* one call of so many takes a hundred times as long at one rank; 0: none */
} prices_t;

/* The calls of one choice, at all ranks together. */
typedef struct play {
    sb_trial_t trial;
    uint32_t until;
    uint64_t calls, hosted, trials;
    uint64_t spent[RANKS][2];
    uint64_t random;
} play_t;

static play_t new_play(bool hosted, uint32_t rest)
{
    return (play_t){.trial = sb_trial(hosted, rest), .until = SB_TRIAL_AFTER, .random = 1};
}

static void judge(play_t *play)
{
    sb_spent_t all = {.slowest = {0}};

    for (int rank = 0; rank < RANKS; rank++) {
        for (int side = 0; side < 2; side++) {
            all.slowest[side] = sb_max(all.slowest[side], play->spent[rank][side]);
            all.sum[side] += play->spent[rank][side];
            play->spent[rank][side] = 0;
        }
    }
    sb_trial_judge(&play->trial, &all);
    play->trials += play->trial.over;
}

static void take_turn(play_t *play)
{
    if (sb_trial_is_due(&play->trial))
        judge(play);
    play->until = sb_trial_next(&play->trial);
    assert_true(play->until > 0);
}

static void make_call(play_t *play, prices_t prices)
{
    bool spoilt = prices.spoilt > 0 && draw(&play->random, prices.spoilt) == 0;

    if (--play->until == 0)
        take_turn(play);
    bool hosted = sb_trial_is_hosted(&play->trial);
    for (int rank = 0; rank < RANKS && play->trial.timed; rank++)
        play->spent[rank][play->trial.trying] +=
            (hosted ? prices.host : prices.sobor) * (spoilt && rank == 1 ? 100 : 1);
    play->calls++;
    play->hosted += hosted;
}

/* How many of these calls the host served. */
static uint64_t play(play_t *play, uint64_t calls, prices_t prices)
{
    uint64_t before = play->hosted;

    for (uint64_t i = 0; i < calls; i++)
        make_call(play, prices);
    return play->hosted - before;
}

static void what_is_clearly_faster_is_found_in_200_calls(void **state)
{
    static const prices_t prices[] = {{300, 600, 0},     {600, 300, 0},     {1000, 2000, 30},
                                      {2000, 1000, 30},  {1000, 100000, 0}, {100000, 1000, 0},
                                      {1, 1000000000, 0}};

    (void)state;
    for (int hosted = 0; hosted < 2; hosted++) {
        for (size_t i = 0; i < SB_COUNT_OF(prices); i++) {
            play_t one = new_play(hosted, 0);
            play(&one, 200, prices[i]);
            assert_int_equal(one.trial.hosted, prices[i].host < prices[i].sobor);
        }
    }
}

/* Neither a small gain nor one that some ranks pay for. */
static void a_small_gain_is_not_enough(void **state)
{
    play_t sobor = new_play(false, 0), host = new_play(true, 0);
    sb_trial_t shifted = sb_trial(false, 0);

    (void)state;
    play(&sobor, 100000, (prices_t){1000, 920, 0});
    play(&host, 100000, (prices_t){920, 1000, 0});
    assert_false(sobor.trial.hosted);
    assert_true(host.trial.hosted);
    for (int round = 0; round < 10; round++)
        sb_trial_judge(&shifted, &(sb_spent_t){{1000, 800}, {2000, 2400}});
    assert_false(shifted.hosted);
}

/* One rank off its processor for once misleads nobody: in none of many plays. */
static void single_long_calls_do_not_mislead(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        play_t one = new_play(false, 0);
        one.random = seed;
        play(&one, 200, (prices_t){1000, 1000, 60});
        if (one.trial.hosted)
            fail_msg("seed %u", (unsigned)seed);
    }
}

/* Of the calls behind the first 200, and of their time. */
static void trials_cost_less_and_less(void **state)
{
    static const uint64_t host[] = {950, 1500, 1900, 3000, 100000, 10000000};

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(host); i++) {
        play_t one = new_play(false, 0);
        prices_t prices = {1000, host[i], 0};
        play(&one, 200, prices);
        for (uint64_t calls = 1 << 16; calls <= 1 << 20; calls *= 4) {
            uint64_t hosted = play(&one, calls, prices);
            assert_true(hosted * 50 <= calls);
            assert_true((double)hosted * ((double)host[i] - 1000) <= 0.02 * 1000 * (double)calls);
        }
        assert_true(play(&one, 1 << 20, prices) < 1000);
    }
}

/* A machine may change its mind, either way, as often as it likes. */
static void changes_are_followed(void **state)
{
    play_t one = new_play(false, 0);

    (void)state;
    for (int turn = 0; turn < 10; turn++) {
        bool hosted = turn % 2 == 0;
        play(&one, 40000, hosted ? (prices_t){1000, 500, 0} : (prices_t){500, 1000, 0});
        assert_int_equal(one.trial.hosted, hosted);
    }
}

/* So that tests see many trials. */
static void a_fixed_rest_is_kept(void **state)
{
    play_t one = new_play(false, 3);

    (void)state;
    play(&one, 10000, (prices_t){1000, 1500, 0});
    assert_true(one.trials > 400);
}

/* ---- what is tried at all ---- */

static sb_settings_t settings(uint32_t trials, const sb_rules_t *rules)
{
    sb_settings_t made = {.ring_bytes = 512 << 10,
                          .tree_arity = 4,
                          .collectives = UINT32_MAX,
                          .trials = trials,
                          .rules = rules};

    for (sb_collective_t c = 0; c < SB_COLLECTIVES; c++)
        strcpy(made.algorithm[c], "auto");
    return made;
}

static const sb_shape_t eight = {.prices = &sb_prices_standard,
                                 .ranks = 8,
                                 .processors = 8,
                                 .tree_arity = 4,
                                 .ring_bytes = 512 << 10,
                                 .ungrouped = "the ranks are not bound to processors"};

static bool moves_data(sb_collective_t c)
{
    return c != SB_BARRIER && c < SB_REDUCE;
}

static void reductions_and_barriers_are_not_tried(void **state)
{
    (void)state;
    for (uint32_t trials = SB_TRIALS_RULES; trials <= SB_TRIALS_OFF; trials++) {
        sb_settings_t made = settings(trials, NULL);
        for (sb_collective_t c = 0; c < SB_COLLECTIVES; c++) {
            sb_choice_t choice = sb_choose(c, &eight, &made, 64, false);
            const sb_algorithm_t *own =
                trials == SB_TRIALS_ON && moves_data(c) ? choice.algorithm : NULL;
            assert_non_null(choice.algorithm);
            assert_ptr_equal(choice.own, own);
        }
    }
}

static void people_are_obeyed(void **state)
{
    sb_settings_t named = settings(SB_TRIALS_ON, NULL);
    sb_rules_t rules = {
        .count = 1,
        .rule = {
            {.collective = SB_BCAST, .sets = 1u << SB_TUNE_ALGORITHM, .bytes_to = UINT64_MAX}}};
    sb_settings_t ruled = settings(SB_TRIALS_ON, &rules);

    (void)state;
    strcpy(named.algorithm[SB_BCAST], "ring");
    assert_null(sb_choose(SB_BCAST, &eight, &named, 64, false).own);
    strcpy(named.algorithm[SB_BCAST], "host");
    assert_null(sb_choose(SB_BCAST, &eight, &named, 64, false).own);
    rules.rule[0].value[SB_TUNE_ALGORITHM] = SB_RULE_HOST;
    assert_null(sb_choose(SB_BCAST, &eight, &ruled, 64, false).own);
}

/* Where a measured rule is for the host, Sobor's side is what it would choose by itself. */
static void measured_rules_are_tried(void **state)
{
    sb_rules_t rules = {.count = 1,
                        .rule = {{.collective = SB_BCAST,
                                  .sets = 1u << SB_TUNE_ALGORITHM,
                                  .measured = 1,
                                  .bytes_to = 1000}}};
    sb_settings_t ruled = settings(SB_TRIALS_RULES, &rules), plain = settings(SB_TRIALS_ON, NULL);
    uint64_t *word = &rules.rule[0].value[SB_TUNE_ALGORITHM];
    static sb_plan_table_t table;

    (void)state;
    *word = SB_RULE_HOST;
    sb_choice_t choice = sb_choose(SB_BCAST, &eight, &ruled, 64, false);
    assert_null(choice.algorithm);
    assert_ptr_equal(choice.own, sb_choose(SB_BCAST, &eight, &plain, 64, false).algorithm);
    assert_null(sb_choose(SB_BCAST, &eight, &ruled, 1001, false).own);
    *word = SB_RULE_FIRST;
    while (sb_algorithm_at(*word - SB_RULE_FIRST) != &sb_bcast_ring)
        ++*word;
    choice = sb_choose(SB_BCAST, &eight, &ruled, 64, false);
    assert_ptr_equal(choice.algorithm, &sb_bcast_ring);
    assert_ptr_equal(choice.own, &sb_bcast_ring);
    /* Each size class of a rule has a trial of its own. */
    sb_plan_start(&table, &eight, &ruled);
    sb_planned_t *small = sb_planned(&table, SB_BCAST, 8, false);
    assert_int_equal(small->until, SB_TRIAL_AFTER);
    assert_ptr_not_equal(small, sb_planned(&table, SB_BCAST, 1000, false));
    assert_ptr_equal(small, sb_planned(&table, SB_BCAST, 9, false));
    assert_int_equal(sb_planned(&table, SB_BCAST, 1001, false)->until, 0);
    sb_plan_end(&table);
    ruled.trials = SB_TRIALS_OFF;
    assert_null(sb_choose(SB_BCAST, &eight, &ruled, 64, false).own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_clearly_faster_is_found_in_200_calls),
        cmocka_unit_test(a_small_gain_is_not_enough),
        cmocka_unit_test(single_long_calls_do_not_mislead),
        cmocka_unit_test(trials_cost_less_and_less),
        cmocka_unit_test(changes_are_followed),
        cmocka_unit_test(a_fixed_rest_is_kept),
        cmocka_unit_test(reductions_and_barriers_are_not_tried),
        cmocka_unit_test(people_are_obeyed),
        cmocka_unit_test(measured_rules_are_tried),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
