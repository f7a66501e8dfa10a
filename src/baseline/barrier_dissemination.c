/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dissemination barrier: in round r every rank signals the rank 2^r after it and waits for the
 * signal of the rank 2^r before it; after ceil(log2 p) rounds each has heard of all. Cost:
 * ceil(log2 p) line transfers, one after the other, for any p. Memory: one line for each round and
 * rank; a line has one writer, the rank 2^r before its owner. Source: Hensgen, Finkel, Manber, "Two
 * algorithms for barrier synchronization", 1988.
 */
#include "baseline/barriers.h"

static sb_status_t run(sb_team_t *team)
{
    sb_status_t status = sb_barrier_blocks_prepare(team);
    uint32_t round = 0;

    if (status != SB_OK)
        return status;
    uint64_t number = ++team->barriers;
    for (uint32_t distance = 1; distance < team->size; distance *= 2, round++) {
        uint32_t to = (team->rank + distance) % team->size;
        sb_flag_publish(&sb_barrier_block(team, to)->signal[round].flag, number);
        sb_flag_t *own = &sb_barrier_block(team, team->rank)->signal[round].flag;
        status = sb_flag_wait(own, number, &team->waiter);
        if (status != SB_OK)
            return status;
    }
    sb_team_all_arrived(team);
    return SB_OK;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    (void)bytes;
    /* A signal's line moves to its writer, then back to the owner that waits for it. */
    return 2.0 * price->line * sb_rounds(shape->ranks) + 4.0 * price->moving_line * shape->ranks +
           sb_cost_turns(shape, sb_rounds(shape->ranks));
}

const sb_algorithm_t sb_barrier_dissemination = {
    .name = "dissemination",
    .collective = SB_BARRIER,
    .doc = "Signals over doubling distances, ceil(log2 p) rounds.",
    .source = "Hensgen, Finkel, Manber 1988",
    .on_request = true,
    .prepare = sb_barrier_blocks_prepare,
    .cost = cost,
    .barrier = run,
};
