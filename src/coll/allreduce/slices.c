/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce in slices: windows of the message go through shared memory; every rank copies its
 * contribution in, combines its slice of what the ranks of its NUMA node have given, from left to
 * right in rank order, and copies the result out, each of one window in the same step. Nodes
 * combine a window one after the other, each going on from the result of the one before, and the
 * last result is brought to each node once: so a byte crosses from node to node twice, however many
 * ranks there are, and the order is that of ranks. Where ranks of a node are not side by side all
 * ranks are one group. Cost: w + g + 2 steps for w windows and g groups, with a barrier between
 * two; each rank copies every byte in, combines as many, and copies as many out. Memory: 3 (g + 1)
 * windows a rank, at least 9. Preconditions: the workspace. Source: ours; reduction in slices in
 * shared memory is known from many MPI libraries, such as Jain, Kaleem, Balmana, Langer, Durnov,
 * Sannikov, Garzaran, 2018.
 */
#include "coll/reduction/slices.h"

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_slices_reduce(team, reduction, sb_wanted_by_all(team, reduction), true);
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    return sb_slices_cost(shape, bytes, (double)bytes);
}

const sb_algorithm_t sb_allreduce_slices = {
    .name = "slices",
    .collective = SB_ALLREDUCE,
    .doc = "Windows go through shared memory; each rank combines a slice of them in rank order, "
           "NUMA nodes one after the other; copying in, combining and copying out overlap.",
    .source = "Sobor; see docs/reductions.md",
    .prepare = sb_workspace_prepare,
    .cost = cost,
    .reduction = run,
};
