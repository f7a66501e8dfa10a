/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tree barrier: arrivals are gathered up a tree of arity k, then the release goes down the same
 * tree. A rank publishes its own arrival when its whole subtree has arrived, and the release when
 * its parent has. Cost: twice the tree's depth, each level a line transfer and up to k lines looked
 * at. Memory: two lines a rank, each written by its owner alone. Source: the static tree barrier of
 * Mellor-Crummey and Scott, 1991, with one tree for both directions and monotone numbers in place
 * of sense reversal.
 */
#include "coll/barrier/barrier.h"

#include "team/tree.h"

static sb_status_t gather(sb_team_t *team, const sb_tree_t *tree, uint64_t number)
{
    for (uint32_t i = 0; i < tree->children; i++) {
        sb_status_t status = sb_barrier_await(team, sb_tree_child(tree, i), number);
        if (status != SB_OK)
            return status;
    }
    return SB_OK;
}

static sb_status_t run(sb_team_t *team)
{
    uint64_t number = ++team->barriers;
    sb_tree_t tree = sb_tree(team->rank, 0, team->size, sb_team_arity(team, SB_BARRIER, 0));
    sb_status_t status = gather(team, &tree, number);

    if (status != SB_OK)
        return status;
    if (team->rank != 0) {
        sb_flag_publish(&team->self->arrived.flag, number);
        status = sb_flag_wait(&team->controls[tree.parent]->released.flag, number, &team->waiter);
        if (status != SB_OK)
            return status;
    }
    if (tree.children > 0)
        sb_flag_publish(&team->self->released.flag, number);
    sb_team_all_arrived(team);
    return SB_OK;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    uint32_t depth = sb_tree_depth(shape->ranks, shape->tree_arity);

    (void)bytes;
    return 2.0 * depth * (price->line + 0.25 * price->line * (shape->tree_arity - 1)) +
           3.0 * price->moving_line * shape->ranks + sb_cost_turns(shape, 2.0 * depth);
}

const sb_algorithm_t sb_barrier_tree = {
    .name = "tree",
    .collective = SB_BARRIER,
    .doc = "Arrivals gathered up a tree, release down the same tree; arity by SOBOR_TREE_ARITY.",
    .source = "Mellor-Crummey, Scott 1991, static tree",
    .on_request = true,
    .cost = cost,
    .barrier = run,
};
