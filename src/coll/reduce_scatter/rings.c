/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter and Reduce_scatter_block through rings: every rank copies what the others want of
 * its contribution into its own ring, window after window, and combines its own part of all as it
 * comes, from left to right in rank order. Cost: each rank copies every byte in and combines as
 * many, in one step: no partial result is stored. Memory: one ring a rank, of at most 256 KiB.
 * Preconditions: the workspace. Source: ours; the broadcast in a ring, with every rank as a root.
 */
#include "coll/reduction/rings.h"

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_rings_deal(team, reduction);
}

/*
 * Of a message that is longer than the rings, the parts have their turns one after the other, and
 * others copy meanwhile.
 */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double all = (double)bytes * sb_cost_crowd(shape);
    double ringfuls = sb_min(sb_max((double)bytes / SB_RINGS_USUAL, 1.0), (double)shape->ranks);
    bool together = ringfuls <= 1 || shape->oversubscribed;

    /* All begin a part of each at once, and parts are short. */
    return sb_rings_cost(shape, together ? all : 0, ringfuls * all,
                         price->ring_part * shape->ranks);
}

#define RINGS(of)                                                                                  \
    {                                                                                              \
        .name = "rings", .collective = of,                                                         \
        .doc = "Every rank puts its vector into its ring, in windows; each combines its part in "  \
               "rank order as it comes.",                                                          \
        .source = "Sobor; see docs/reductions.md", .prepare = sb_workspace_prepare, .cost = cost,  \
        .reduction = run,                                                                          \
    }

const sb_algorithm_t sb_reduce_scatter_rings = RINGS(SB_REDUCE_SCATTER);
const sb_algorithm_t sb_reduce_scatter_block_rings = RINGS(SB_REDUCE_SCATTER_BLOCK);
