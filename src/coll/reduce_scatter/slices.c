/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter and Reduce_scatter_block in slices: as the allreduce in slices; each rank copies
 * its part of the result out of the slices of the last group. Slices follow from windows, not from
 * parts, so that all ranks have as much to combine however parts differ. Cost: w + g + 1 steps for
 * w windows and g groups, with a barrier between two; each rank copies every byte in, combines as
 * many, and copies its part out. Memory: as the allreduce in slices. Preconditions: the workspace.
 * Source: as the allreduce in slices.
 */
#include "coll/reduction/slices.h"

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_slices_reduce(team, reduction, sb_wanted_part(team, reduction), false);
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    /* Nothing is brought near first, as it is for all. */
    double relays = shape->apart ? 5 * price->line : 0;

    return sb_slices_cost(shape, bytes, (double)bytes / shape->ranks) - relays;
}

#define SLICES(of)                                                                                 \
    {                                                                                              \
        .name = "slices", .collective = of,                                                        \
        .doc = "Windows go through shared memory; each rank combines a slice of them in rank "     \
               "order, NUMA nodes one after the other, and copies its part out.",                  \
        .source = "Sobor; see docs/reductions.md", .prepare = sb_workspace_prepare, .cost = cost,  \
        .reduction = run,                                                                          \
    }

const sb_algorithm_t sb_reduce_scatter_slices = SLICES(SB_REDUCE_SCATTER);
const sb_algorithm_t sb_reduce_scatter_block_slices = SLICES(SB_REDUCE_SCATTER_BLOCK);
