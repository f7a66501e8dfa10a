/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MCS tree barrier: arrivals go up a tree of four children a rank, the release goes down another
 * one of two children a rank. The flags of a rank's four children are side by side in one line of
 * the rank, which it alone looks at; each rank is woken by a flag of its own. Cost: the line of a
 * parent moves to each child and back, log4 p levels up; log2 p writes down. Memory: two lines a
 * rank; every flag has one writer, a child or the waker. Source: Mellor-Crummey, Scott,
 * "Algorithms for scalable synchronization on shared-memory multiprocessors", 1991, algorithm 11,
 * with monotone numbers in place of sense reversal.
 */
#include "baseline/barriers.h"

static sb_status_t gather(sb_team_t *team, uint64_t number)
{
    sb_barrier_block_t *own = sb_barrier_block(team, team->rank);
    uint64_t first = (uint64_t)team->rank * SB_CHILDREN + 1;

    for (uint32_t i = 0; i < SB_CHILDREN && first + i < team->size; i++) {
        sb_status_t status = sb_flag_wait(&own->children.flag[i], number, &team->waiter);
        if (status != SB_OK)
            return status;
    }
    return SB_OK;
}

/* Says to the parent that this rank's subtree is complete, and waits to be woken. */
static sb_status_t report(sb_team_t *team, uint64_t number)
{
    uint32_t parent = (team->rank - 1) / SB_CHILDREN;
    uint32_t i = (team->rank - 1) % SB_CHILDREN;

    sb_flag_publish(&sb_barrier_block(team, parent)->children.flag[i], number);
    return sb_flag_wait(&team->self->woken.flag, number, &team->waiter);
}

static void wake(sb_team_t *team, uint64_t number)
{
    for (uint64_t child = 2 * (uint64_t)team->rank + 1; child <= 2 * (uint64_t)team->rank + 2;
         child++) {
        if (child < team->size)
            sb_flag_publish(&team->controls[child]->woken.flag, number);
    }
}

static sb_status_t run(sb_team_t *team)
{
    sb_status_t status = sb_barrier_blocks_prepare(team);

    if (status != SB_OK)
        return status;
    uint64_t number = ++team->barriers;
    status = gather(team, number);
    if (status == SB_OK && team->rank != 0)
        status = report(team, number);
    if (status != SB_OK)
        return status;
    wake(team, number);
    sb_team_all_arrived(team);
    return SB_OK;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    uint32_t up = sb_tree_depth(shape->ranks, SB_CHILDREN);
    uint32_t down = sb_tree_depth(shape->ranks, 2);

    (void)bytes;
    return up * price->line * (1 + SB_CHILDREN) + 2.0 * down * price->line +
           sb_cost_turns(shape, up + down);
}

const sb_algorithm_t sb_barrier_mcs = {
    .name = "mcs",
    .collective = SB_BARRIER,
    .doc = "Arrivals up a tree of four children that share a line, release down a binary tree.",
    .source = "Mellor-Crummey, Scott 1991, algorithm 11",
    .on_request = true,
    .prepare = sb_barrier_blocks_prepare,
    .cost = cost,
    .barrier = run,
};
