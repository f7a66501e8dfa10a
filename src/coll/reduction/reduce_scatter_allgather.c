/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions in slices: a reduce-scatter and an allgather of one window of the message after the
 * other, through shared memory. Every rank copies its contribution in, combines its slice of what
 * the ranks of its NUMA node have given, from left to right in rank order, and copies out what it
 * wants of the result, each of one window in the same step. Nodes combine a window one after the
 * other, each going on from the result of the one before; of an allreduce the last result is
 * brought to each node once: so a byte crosses from node to node twice, however many ranks there
 * are, and the order is that of ranks. Where ranks of a node are not side by side all ranks are one
 * group. Slices follow from windows, not from parts, so that all ranks have as much to combine
 * however the parts of a reduce_scatter differ. Of a scan a rank goes through its slice of all
 * contributions and keeps what there is after each rank. Cost: w + g + 1 steps for w windows and g
 * groups, one more of an allreduce, with a barrier between two; each rank copies every byte in,
 * combines as many, and copies out what it wants. Memory: 3 (g + 1) windows a rank, at least 9.
 * Preconditions: the workspace. Source: ours; reduction in slices in shared memory is known from
 * many MPI libraries, such as Jain, Kaleem, Balmana, Langer, Durnov, Sannikov, Garzaran, 2018.
 */
#include "coll/reduction/slices.h"

static sb_status_t allreduce(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_slices_reduce(team, reduction, sb_wanted_by_all(team, reduction), true);
}

static sb_status_t reduce(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_slices_reduce(team, reduction, sb_wanted_by_root(team, reduction), false);
}

static sb_status_t deal(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_slices_reduce(team, reduction, sb_wanted_part(team, reduction), false);
}

static sb_status_t scan(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_slices_scan(team, reduction, team->rank + 1);
}

static sb_status_t exscan(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_slices_scan(team, reduction, team->rank);
}

static double cost_of_all(const sb_shape_t *shape, size_t bytes)
{
    return sb_slices_cost(shape, bytes, (double)bytes);
}

static double cost_of_parts(const sb_shape_t *shape, size_t bytes)
{
    /* Nothing is brought near first, as it is for all. */
    double relays = shape->apart ? 5 * shape->prices->line : 0;

    return sb_slices_cost(shape, bytes, (double)bytes / shape->ranks) - relays;
}

/* What each rank has is kept by all, and a copy of few bytes costs a line all the same. */
static double cost_of_scan(const sb_shape_t *shape, size_t bytes)
{
    sb_shape_t one_group = *shape;

    one_group.apart = false;
    double kept = shape->prices->scan_kept + shape->prices->scan_kept_crowd * shape->ranks;
    return sb_slices_cost(&one_group, bytes, (double)bytes) + kept * shape->ranks;
}

#define SLICES(of, run, costs, what)                                                               \
    {                                                                                              \
        .name = "reduce-scatter-allgather", .former = "slices", .collective = of,                  \
        .doc = "Windows go through shared memory; each rank combines a slice of them " what,       \
        .source = "Sobor; see docs/reductions.md", .prepare = sb_workspace_prepare, .cost = costs, \
        .reduction = run,                                                                          \
    }

#define PART "in rank order, NUMA nodes one after the other, and copies its part out."
#define KEEP "from rank to rank and keeps what there is after each, and copies out what is its own."

const sb_algorithm_t sb_allreduce_reduce_scatter_allgather =
    SLICES(SB_ALLREDUCE, allreduce, cost_of_all,
           "in rank order, NUMA nodes one after the other; copying in, combining and copying out "
           "overlap.");
const sb_algorithm_t sb_reduce_reduce_scatter_allgather =
    SLICES(SB_REDUCE, reduce, cost_of_all,
           "in rank order, NUMA nodes one after the other; the root copies out.");
const sb_algorithm_t sb_reduce_scatter_reduce_scatter_allgather =
    SLICES(SB_REDUCE_SCATTER, deal, cost_of_parts, PART);
const sb_algorithm_t sb_reduce_scatter_block_reduce_scatter_allgather =
    SLICES(SB_REDUCE_SCATTER_BLOCK, deal, cost_of_parts, PART);
const sb_algorithm_t sb_scan_reduce_scatter_allgather = SLICES(SB_SCAN, scan, cost_of_scan, KEEP);
const sb_algorithm_t sb_exscan_reduce_scatter_allgather =
    SLICES(SB_EXSCAN, exscan, cost_of_scan, KEEP);
