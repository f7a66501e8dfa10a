/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tournament barrier with a tree of wake-ups: as `tournament`, in round r the ranks that are
 * multiples of 2^r play in pairs and the lower rank goes on; but each winner wakes those it has
 * beaten, the last first, where there the champion writes one number for all. Cost: ceil(log2 p)
 * line transfers up and as many down; nobody looks at a line that another looks at. Memory: two
 * lines a rank, since a rank loses once and is woken once; one is written by its owner, the other
 * by the winner. Source: algorithm 10 of Mellor-Crummey and Scott, 1991, after Hensgen, Finkel,
 * Manber, 1988, and Lubachevsky, 1989; with monotone numbers in place of sense reversal.
 */
#include "coll/barrier/barrier.h"

/* This rank's opponents are at the distances 1, 2, 4 and so on below this one. */
static uint64_t rounds_won(const sb_team_t *team)
{
    uint64_t step = 1;

    while (step < team->size && team->rank % (2 * step) == 0)
        step *= 2;
    return step;
}

static sb_status_t play(sb_team_t *team, uint64_t end, uint64_t number)
{
    for (uint64_t step = 1; step < end; step *= 2) {
        uint64_t loser = team->rank + step;
        if (loser >= team->size) /* no opponent: the next round */
            continue;
        sb_status_t status = sb_flag_wait(&team->lanes[loser]->arrived.flag, number, &team->waiter);
        if (status != SB_OK)
            return status;
    }
    return SB_OK;
}

static void wake(sb_team_t *team, uint64_t end, uint64_t number)
{
    for (uint64_t step = end / 2; step > 0; step /= 2) {
        if (team->rank + step < team->size)
            sb_flag_publish(&team->lanes[team->rank + step]->woken.flag, number);
    }
}

static sb_status_t run(sb_team_t *team)
{
    uint64_t number = ++team->barriers;
    uint64_t end = rounds_won(team);
    sb_status_t status = play(team, end, number);

    if (status == SB_OK && team->rank != 0) {
        sb_flag_publish(&team->self->arrived.flag, number);
        status = sb_flag_wait(&team->self->woken.flag, number, &team->waiter);
    }
    if (status != SB_OK)
        return status;
    wake(team, end, number);
    sb_team_all_arrived(team);
    return SB_OK;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    (void)bytes;
    return 4.0 * price->line * sb_rounds(shape->ranks) +
           sb_cost_turns(shape, 2.0 * sb_rounds(shape->ranks));
}

const sb_algorithm_t sb_barrier_tournament_tree = {
    .name = "tournament-tree",
    .collective = SB_BARRIER,
    .doc = "Pairs in ceil(log2 p) rounds, the lower rank goes on and wakes the other.",
    .source = "Mellor-Crummey, Scott 1991, algorithm 10",
    .cost = cost,
    .barrier = run,
};
