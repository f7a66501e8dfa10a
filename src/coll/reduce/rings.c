/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce through rings: every rank but the root copies its contribution into its own ring, window
 * after window, and goes on; the root combines them as they come, from left to right in rank order.
 * Cost: each byte is copied in once, at the same time by all, and the root combines p times as
 * many; nobody but the root waits, unless its ring is full. Memory: one ring a rank, of at most 256
 * KiB. Preconditions: the workspace. Source: ours; the broadcast in a ring, with every rank as a
 * root.
 */
#include "coll/reduction/rings.h"

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_rings_reduce(team, reduction, sb_wanted_by_root(team, reduction),
                           team->rank != reduction->root);
}

/* Where nobody shares a processor, the root combines while the others copy. */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    double in = shape->oversubscribed ? (double)bytes * sb_cost_crowd(shape) : 0;

    return sb_rings_cost(shape, in, shape->ranks * (double)bytes, 1);
}

const sb_algorithm_t sb_reduce_rings = {
    .name = "rings",
    .collective = SB_REDUCE,
    .doc = "Every rank puts its vector into its ring, in windows, and goes on; the root combines "
           "them in rank order as they come.",
    .source = "Sobor; see docs/reductions.md",
    .prepare = sb_workspace_prepare,
    .cost = cost,
    .reduction = run,
};
