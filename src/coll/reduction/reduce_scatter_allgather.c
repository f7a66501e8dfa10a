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

#include "coll/reduction/halves.h"
#include "coll/reduction/placed.h"
#include "coll/reduction/rings.h"
#include "coll/reduction/ways.h"

/* What others have combined lies in as many places, and some of them are in other groups. */
static double cost_of_result(const sb_shape_t *shape, size_t bytes, double places)
{
    bool grouped = sb_cost_calm(shape) && shape->stages > 1 && !shape->apart;

    return sb_slices_cost(shape, bytes, (double)bytes) +
           (grouped ? shape->prices->line * places : 0);
}

/* All read it. Of two ranks shorter messages may lie in blocks that are shared: if not, little is
 * lost (placed.h). */
static double cost_of_all(const sb_shape_t *shape, size_t bytes)
{
    sb_shape_t shared = *shape;

    if (shape->ranks == 2 && shape->loads != 0)
        shared.loads = SB_COPY_LEAST;
    return cost_of_result(&shared, bytes, 0.5 * shape->ranks);
}

/* The root takes the whole result: a contribution that is not copied in saves the others' time. */
static double cost_of_root(const sb_shape_t *shape, size_t bytes)
{
    sb_shape_t copied = *shape;

    copied.loads = 0;
    return cost_of_result(&copied, bytes, shape->ranks);
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
    const sb_prices_t *price = shape->prices;
    double crowd =
        sb_cost_calm(shape) && !shape->apart ? price->scan_kept_calm : price->scan_kept_crowd;
    double kept = price->scan_kept + crowd * shape->ranks;
    bool near = sb_cost_calm(shape) && shape->stages == 1;
    return sb_slices_cost(&one_group, bytes, (double)bytes) +
           (near ? price->scan_kept_near : 1) * kept * shape->ranks;
}

/* A long one of two ranks that read what they share goes in slices where that is fastest. */
static sb_status_t allreduce(sb_team_t *team, const sb_reduction_t *reduction)
{
    bool ways = sb_placed_both(team, reduction, true) && sb_halves_may_be(team, reduction);
    sb_copy_mode_t mode = ways ? sb_ways_choose(team, reduction, SB_WAYS_OF_LOADS) : SB_COPY_ANY;

    if (!ways || mode == SB_COPY_PULLED || mode == SB_COPY_WHOLE)
        return sb_slices_reduce(team, reduction, sb_wanted_by_all(team, reduction), true, mode);
    sb_status_t status = sb_halves_as(team, reduction, mode);
    sb_workspace_copied(sb_workspace(team));
    return status;
}

/* Theirs of long parts goes as it would through rings, which is by loads where that is faster. */
static sb_status_t reduce_scatter(sb_team_t *team, const sb_reduction_t *reduction)
{
    if (sb_reduction_rings_parts_loaded(team, reduction))
        return sb_reduction_rings_reduce_scatter(team, reduction);
    return sb_slices_reduce(team, reduction, sb_wanted_part(team, reduction), false, SB_COPY_ANY);
}

#define SLICES(algorithm, of, call, costs, what)                                                   \
    SB_REDUCES(                                                                                    \
        algorithm, call, .name = "reduce-scatter-allgather", .former = "slices", .collective = of, \
        .doc = "Windows go through shared memory; each rank combines a slice of them " what,       \
        .source = "Sobor; see docs/reductions.md", .prepare = sb_buffers_prepare, .cost = costs)

#define REDUCE(wants) sb_slices_reduce(team, reduction, wants(team, reduction), false, SB_COPY_ANY)
#define SCAN(ranks) sb_slices_scan(team, reduction, ranks)
#define PART "in rank order, NUMA nodes one after the other, and copies its part out."
#define KEEP "from rank to rank and keeps what there is after each, and copies out what is its own."

SLICES(sb_allreduce_reduce_scatter_allgather, SB_ALLREDUCE, allreduce(team, reduction), cost_of_all,
       "in rank order, NUMA nodes one after the other; copying in, combining and copying out "
       "overlap.");
SLICES(sb_reduce_reduce_scatter_allgather, SB_REDUCE, REDUCE(sb_wanted_by_root), cost_of_root,
       "in rank order, NUMA nodes one after the other; the root copies out.");
SLICES(sb_reduce_scatter_reduce_scatter_allgather, SB_REDUCE_SCATTER,
       reduce_scatter(team, reduction), cost_of_parts, PART);
SLICES(sb_reduce_scatter_block_reduce_scatter_allgather, SB_REDUCE_SCATTER_BLOCK,
       reduce_scatter(team, reduction), cost_of_parts, PART);
SLICES(sb_scan_reduce_scatter_allgather, SB_SCAN, SCAN(team->rank + 1), cost_of_scan, KEEP);
SLICES(sb_exscan_reduce_scatter_allgather, SB_EXSCAN, SCAN(team->rank), cost_of_scan, KEEP);
