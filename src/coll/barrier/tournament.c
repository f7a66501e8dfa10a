/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tournament barrier: in round r the ranks that are multiples of 2^r play in pairs; the winner is
 * known beforehand, the lower rank. The loser stores its arrival and drops out, the winner waits
 * for it and goes on. Rank 0, the champion, writes one number on which all others spin. Cost:
 * ceil(log2 p) line transfers up, then one line read by p - 1 ranks. Memory: one line a rank, since
 * a rank loses once, and one more; each is written by its owner. Source: Hensgen, Finkel, Manber,
 * "Two algorithms for barrier synchronization", 1988, with monotone numbers in place of resets.
 */
#include "coll/barrier/barrier.h"

static sb_status_t play(sb_team_t *team, uint64_t number)
{
    for (uint64_t step = 1; step < team->size && team->rank % (2 * step) == 0; step *= 2) {
        uint64_t loser = team->rank + step;
        if (loser >= team->size) /* no opponent: the next round */
            continue;
        sb_status_t status = sb_flag_wait(&team->lanes[loser]->arrived.flag, number, &team->waiter);
        if (status != SB_OK)
            return status;
    }
    return SB_OK;
}

static sb_status_t run(sb_team_t *team)
{
    uint64_t number = ++team->barriers;
    sb_status_t status = play(team, number);

    if (status != SB_OK)
        return status;
    if (team->rank == 0) {
        sb_flag_publish(&team->self->released.flag, number);
    } else {
        sb_flag_publish(&team->self->arrived.flag, number);
        status = sb_flag_wait(&team->lanes[0]->released.flag, number, &team->waiter);
    }
    if (status == SB_OK)
        sb_team_all_arrived(team);
    return status;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    (void)bytes;
    return price->line * (sb_rounds(shape->ranks) + 1) + price->next_line * (shape->ranks - 2) +
           sb_cost_turns(shape, sb_rounds(shape->ranks) + 1);
}

const sb_algorithm_t sb_barrier_tournament = {
    .name = "tournament",
    .collective = SB_BARRIER,
    .doc = "Pairs in ceil(log2 p) rounds, the lower rank goes on; the champion releases all.",
    .source = "Hensgen, Finkel, Manber 1988",
    .cost = cost,
    .barrier = run,
};
