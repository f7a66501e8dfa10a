/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Central barrier: every rank adds one to a counter; the last to arrive changes the number on which
 * all others spin. Counter and number are one record, on one line, so each addition takes the line
 * from all who spin on it. Cost: p additions, each of which drives out up to p - 1 copies that are
 * read again, all of it served by one line. Memory: one line. It stands here for comparison;
 * `counter` is the same with two lines. Source: the sense-reversing centralized barrier, algorithm
 * 7 of Mellor-Crummey and Scott, 1991, with monotone numbers in place of sense reversal.
 */
#include "coll/barrier/barrier.h"

static sb_status_t run(sb_team_t *team)
{
    uint64_t number = ++team->barriers;
    sb_meeting_t *centre = &team->lanes[0]->meeting;
    uint32_t place = (uint32_t)(sb_counter_add(&centre->counter, 1) % team->size);
    uint32_t missing = team->size - 1 - place;
    sb_status_t status = SB_OK;

    /* The flag's writer is another in each barrier: the counter orders them. */
    if (missing == 0)
        sb_flag_publish(&centre->flag, number);
    else
        status = sb_flag_wait(&centre->flag, number, sb_team_waiter(team, missing));
    if (status == SB_OK)
        sb_team_all_arrived(team);
    return status;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    uint32_t rivals = shape->oversubscribed ? shape->processors : shape->ranks;

    (void)bytes;
    return 4.0 * price->line * (1 + rivals) + sb_cost_turns(shape, 1);
}

const sb_algorithm_t sb_barrier_central = {
    .name = "central",
    .collective = SB_BARRIER,
    .doc = "One atomic counter and the number all spin on, on one line; for comparison.",
    .source = "Mellor-Crummey, Scott 1991, algorithm 7, sense-reversing centralized barrier",
    .cost = cost,
    .barrier = run,
};
