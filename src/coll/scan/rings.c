/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan and Exscan through rings: every rank but the last copies its contribution into its own ring,
 * window after window; each combines those of the ranks up to itself, or before itself, as they
 * come, from left to right. Cost: each byte is copied in once, and the last rank combines p times
 * as many; none waits for a higher one but for room in its ring. Of two ranks, an Exscan is a
 * message from one to the other. Memory: one ring a rank, of at most 256 KiB. Preconditions: the
 * workspace. Source: ours; the broadcast in a ring, with every rank as a root.
 */
#include "coll/reduction/rings.h"

static sb_status_t scan(sb_team_t *team, const sb_reduction_t *reduction)
{
    sb_wanted_t wanted = {team->rank + 1, 0, reduction->bytes};

    return sb_rings_reduce(team, reduction, wanted, team->rank + 1 < team->size);
}

static sb_status_t exscan(sb_team_t *team, const sb_reduction_t *reduction)
{
    sb_wanted_t wanted = {team->rank, 0, team->rank > 0 ? reduction->bytes : 0};

    return sb_rings_reduce(team, reduction, wanted, team->rank + 1 < team->size);
}

/*
 * The last rank combines all, while the others copy; of ranks that share a processor one combines
 * half of that in the mean.
 */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    double all = (double)bytes * sb_cost_crowd(shape);

    if (!shape->oversubscribed)
        return sb_rings_cost(shape, 0, shape->ranks * all, shape->ranks);
    return sb_rings_cost(shape, all, (shape->ranks + 1) / 2.0 * all, shape->ranks);
}

#define RINGS(of, function)                                                                        \
    {                                                                                              \
        .name = "rings", .collective = of,                                                         \
        .doc = "Every rank puts its vector into its ring, in windows; each combines those of the " \
               "ranks before it as they come.",                                                    \
        .source = "Sobor; see docs/reductions.md", .prepare = sb_workspace_prepare, .cost = cost,  \
        .reduction = function,                                                                     \
    }

const sb_algorithm_t sb_scan_rings = RINGS(SB_SCAN, scan);
const sb_algorithm_t sb_exscan_rings = RINGS(SB_EXSCAN, exscan);
