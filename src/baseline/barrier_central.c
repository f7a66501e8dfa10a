/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The textbook's central barrier: every rank adds one to a counter of rank 0; the last to arrive
 * publishes the number on which all the others spin. Counter and number are one record, on one
 * line, so each addition takes the line from all who spin on it; `counter` has two lines. The
 * number has a different writer each time, one for each barrier; the counter orders them. Cost: p
 * additions, each of which drives out up to p - 1 copies that are read again, all of it served by
 * one line. Memory: one line. Source: the sense-reversing centralized barrier, algorithm 7 of
 * Mellor-Crummey and Scott, 1991, with monotone numbers in place of sense reversal.
 */
#include "baseline/barriers.h"

static sb_status_t run(sb_team_t *team)
{
    sb_status_t status = sb_barrier_blocks_prepare(team);

    if (status != SB_OK)
        return status;
    sb_meeting_t *centre = &sb_barrier_block(team, 0)->meeting;
    return sb_barrier_meet_at_counter(team, &centre->counter, &centre->flag);
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
    .on_request = true,
    .prepare = sb_barrier_blocks_prepare,
    .cost = cost,
    .barrier = run,
};
