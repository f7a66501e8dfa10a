/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan and Exscan in slices: windows of the message go through shared memory; every rank copies its
 * contribution in, goes through its slice of all ranks' contributions from left to right and keeps
 * what there is after each rank, and copies out of all slices what belongs to itself, each of one
 * window in the same step. Cost: w + 2 steps for w windows, with a barrier between two; each rank
 * copies every byte in, combines as many, and copies as many out, where a chain of ranks would take
 * p times as long. Memory: 9 windows a rank. Preconditions: the workspace. Source: as the allreduce
 * in slices.
 */
#include "coll/reduction/slices.h"

static sb_status_t scan(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_slices_scan(team, reduction, team->rank + 1);
}

static sb_status_t exscan(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_slices_scan(team, reduction, team->rank);
}

/* What each rank has is kept by all, and a copy of few bytes costs a line all the same. */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    sb_shape_t one_group = *shape;

    one_group.apart = false;
    double kept = price->scan_kept + price->scan_kept_crowd * shape->ranks;
    return sb_slices_cost(&one_group, bytes, (double)bytes) + kept * shape->ranks;
}

#define SLICES(of, function)                                                                       \
    {                                                                                              \
        .name = "slices", .collective = of,                                                        \
        .doc = "Windows go through shared memory; each rank combines a slice of them from rank "   \
               "to rank and keeps what there is after each, and copies out what is its own.",      \
        .source = "Sobor; see docs/reductions.md", .prepare = sb_workspace_prepare, .cost = cost,  \
        .reduction = function,                                                                     \
    }

const sb_algorithm_t sb_scan_slices = SLICES(SB_SCAN, scan);
const sb_algorithm_t sb_exscan_slices = SLICES(SB_EXSCAN, exscan);
