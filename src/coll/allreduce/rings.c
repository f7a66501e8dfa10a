/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce through rings: every rank copies its contribution into its own ring, window after
 * window, and combines those of all for itself as they come, from left to right in rank order.
 * Cost: each rank copies every byte in and combines p times as many; one flag for each window, and
 * no barrier, so that ranks that share processors have to run once for each ringful. Memory: one
 * ring a rank, of at most 256 KiB. Preconditions: the workspace. Source: ours; the broadcast in a
 * ring, with every rank as a root.
 */
#include "coll/reduction/rings.h"

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_rings_reduce(team, reduction, sb_wanted_by_all(team, reduction), true);
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    double all = (double)bytes * sb_cost_crowd(shape);

    return sb_rings_cost(shape, all, shape->ranks * all, shape->ranks);
}

const sb_algorithm_t sb_allreduce_rings = {
    .name = "rings",
    .former = "whole",
    .collective = SB_ALLREDUCE,
    .doc = "Every rank puts its vector into its ring, in windows; each combines those of all in "
           "rank order as they come. For few ranks, and where they share processors.",
    .source = "Sobor; see docs/reductions.md",
    .prepare = sb_workspace_prepare,
    .cost = cost,
    .reduction = run,
};
