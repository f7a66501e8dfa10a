/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce in slices: as the allreduce in slices; the root alone copies the result out, and copies it
 * out of the slices of the last group. Cost: w + g + 1 steps for w windows and g groups, with a
 * barrier between two; each rank copies every byte in and combines as many. Memory: as the
 * allreduce in slices. Preconditions: the workspace. Source: as the allreduce in slices.
 */
#include "coll/reduction/slices.h"

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_slices_reduce(team, reduction, sb_wanted_by_root(team, reduction), false);
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    return sb_slices_cost(shape, bytes, (double)bytes);
}

const sb_algorithm_t sb_reduce_slices = {
    .name = "slices",
    .collective = SB_REDUCE,
    .doc = "Windows go through shared memory; each rank combines a slice of them in rank order, "
           "NUMA nodes one after the other; the root copies out.",
    .source = "Sobor; see docs/reductions.md",
    .prepare = sb_workspace_prepare,
    .cost = cost,
    .reduction = run,
};
