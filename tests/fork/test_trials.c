/* SPDX-License-Identifier: BSD-3-Clause */
/* Trials in forked processes whose times differ: whichever side serves a call, it is the same for
 * all ranks, and the slowest rank's times decide. */
#include "../unit/testing.h"

#include "job.h"

#include "base/compiler.h"
#include "select/trial.h"

#include <stdio.h>
#include <string.h>

enum { CALLS = 3000, RANKS = 4 };

/* Nanoseconds of a call by each side, at rank 0 and at each other. */
typedef struct prices {
    uint64_t first[2], other[2];
    char expected; /* which serves in the end; '?': it depends */
    bool noise;
} prices_t;

static uint64_t price_of(const prices_t *prices, uint32_t rank, bool hosted, int call)
{
    uint64_t ns = (rank == 0 ? prices->first : prices->other)[hosted];
    uint64_t random = (uint64_t)(call + 1) * (rank + 3) * 0x9e3779b97f4a7c15u;

    return prices->noise ? ns + (random >> 32) % 1000 : ns;
}

/* Which side is the usual one in the end. */
static char play(sb_team_t *team, const prices_t *prices, char *sides)
{
    sb_trial_t trial = sb_trial(false, 2);
    uint32_t until = 1 + team->size % 3;

    for (int call = 0; call < CALLS; call++) {
        if (--until == 0) {
            if (sb_trial_is_due(&trial) && sb_trial_agree(&trial, team) != SB_OK)
                break;
            until = sb_trial_next(&trial);
        }
        sides[call] = sb_trial_is_hosted(&trial) ? 'h' : 'S';
        if (trial.timed)
            sb_trial_record(&trial, price_of(prices, team->rank, sb_trial_is_hosted(&trial), call));
    }
    return trial.hosted ? 'h' : 'S';
}

static int disagreement(const char *mine, const char *all, uint32_t ranks)
{
    for (uint32_t rank = 0; rank < ranks; rank++) {
        if (memcmp(mine, all + (size_t)rank * CALLS, CALLS) == 0)
            continue;
        fprintf(stderr, "rank %u went another way\n", rank);
        return 1;
    }
    return 0;
}

static int run(rank_context_t *context, void *argument)
{
    const prices_t *prices = argument;
    sb_team_t *team = job_team(context);
    char sides[CALLS] = {0};
    static char all[RANKS * CALLS];

    if (team == NULL)
        return 1;
    char usual = play(team, prices, sides);
    if (job_allgather(context, sides, all, CALLS) != SB_OK ||
        disagreement(sides, all, context->size) != 0)
        return 1;
    sb_team_destroy(team);
    if (prices->expected == '?' || usual == prices->expected)
        return 0;
    fprintf(stderr, "in the end: %c\n", usual);
    return 1;
}

static void all_ranks_go_the_same_way(void **state)
{
    static prices_t prices[] = {
        {{1000, 100}, {1000, 100}, 'h', false},
        {{1000, 2000}, {1000, 2000}, 'S', false},
        /* Each by its own times would go another way. */
        {{1000, 500}, {1000, 1500}, 'S', false},
        {{5000, 1000}, {1000, 1200}, 'h', false},
        {{1000, 1000}, {1000, 1000}, '?', true},
    };

    (void)state;
    for (uint32_t ranks = 2; ranks <= RANKS; ranks++)
        assert_int_equal(job_run_all(ranks, 30, run, prices, sizeof prices[0], SB_COUNT_OF(prices)),
                         0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_ranks_go_the_same_way)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
