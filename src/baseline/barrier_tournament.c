/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tournament barriers: in round r the ranks that are multiples of 2^r play in pairs; the winner is
 * known beforehand, the lower rank. The loser stores its arrival and drops out, the winner waits
 * for it and goes on. Numbers only grow, in place of resets and sense reversal.
 *
 * In the first, rank 0, the champion, writes one number on which all others spin. Cost:
 * ceil(log2 p) line transfers up, then one line read by p - 1 ranks. Memory: one line a rank, since
 * a rank loses once, and one more; each is written by its owner. Source: Hensgen, Finkel, Manber,
 * "Two algorithms for barrier synchronization", 1988.
 *
 * In the other each winner wakes those it has beaten, the last first. Cost: ceil(log2 p) line
 * transfers up and as many down; nobody looks at a line that another looks at. Memory: two lines a
 * rank, since a rank loses once and is woken once; one is written by its owner, the other by the
 * winner. Source: algorithm 10 of Mellor-Crummey and Scott, 1991, after Hensgen, Finkel, Manber,
 * 1988, and Lubachevsky, 1989.
 */
#include "baseline/barriers.h"

/* This rank's opponents are at the distances 1, 2, 4 and so on below `end`. */
static sb_status_t play(sb_team_t *team, uint64_t number, uint64_t *end)
{
    sb_status_t status = SB_OK;
    uint64_t step = 1;

    for (; step < team->size && team->rank % (2 * step) == 0 && status == SB_OK; step *= 2) {
        if (team->rank + step < team->size) /* else there is no opponent in this round */
            status = sb_barrier_await(team, (uint32_t)(team->rank + step), number);
    }
    *end = step;
    return status;
}

static sb_status_t run(sb_team_t *team)
{
    uint64_t number = ++team->barriers, end;
    sb_status_t status = play(team, number, &end);

    return status == SB_OK ? sb_barrier_meet_at_root(team, number) : status;
}

static sb_status_t run_tree(sb_team_t *team)
{
    uint64_t number = ++team->barriers, end;
    sb_status_t status = play(team, number, &end);

    if (status == SB_OK)
        status = sb_barrier_be_woken(team, number);
    for (uint64_t step = end / 2; step > 0 && status == SB_OK; step /= 2) {
        if (team->rank + step < team->size)
            sb_flag_publish(&team->controls[team->rank + step]->woken.flag, number);
    }
    return status;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    (void)bytes;
    return price->line * (sb_rounds(shape->ranks) + 1) + price->next_line * (shape->ranks - 2) +
           sb_cost_turns(shape, sb_rounds(shape->ranks) + 1);
}

static double cost_tree(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    (void)bytes;
    return 4.0 * price->line * sb_rounds(shape->ranks) +
           sb_cost_turns(shape, 2.0 * sb_rounds(shape->ranks));
}

const sb_algorithm_t sb_barrier_tournament = {
    .name = "tournament",
    .collective = SB_BARRIER,
    .doc = "Pairs in ceil(log2 p) rounds, the lower rank goes on; the champion releases all.",
    .source = "Hensgen, Finkel, Manber 1988",
    .on_request = true,
    .cost = cost,
    .barrier = run,
};

const sb_algorithm_t sb_barrier_tournament_tree = {
    .name = "tournament-tree",
    .collective = SB_BARRIER,
    .doc = "Pairs in ceil(log2 p) rounds, the lower rank goes on and wakes the other.",
    .source = "Mellor-Crummey, Scott 1991, algorithm 10",
    .on_request = true,
    .cost = cost_tree,
    .barrier = run_tree,
};
