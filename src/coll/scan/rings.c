/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan and Exscan through rings: as the other reductions (coll/reduction/rings.c), where each rank
 * combines the vectors up to its own, or before it. In an Exscan of two ranks nothing is combined:
 * the second gets what the first one has. That is a broadcast, and takes the broadcast's ring: so a
 * long vector is copied once, by the kernel, where that was found to be faster. Cost: as told
 * there, the last rank combines p vectors; of two ranks, that of the broadcast `ring`. Memory: one
 * ring a rank, of the workspace or of the broadcasts. Preconditions: the workspace; of an Exscan of
 * two ranks, the team's rings. Source: ours.
 */
#include "coll/reduction/rings.h"

#include "coll/bcast/bcast.h"
#include "coll/bcast/rings.h"
#include "coll/reduction/workspace.h"

static sb_status_t scan(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_reduction_rings_scan(team, reduction, sb_wanted_scan(team, reduction));
}

static sb_status_t exscan(sb_team_t *team, const sb_reduction_t *reduction)
{
    if (team->size != 2)
        return sb_reduction_rings_scan(team, reduction, sb_wanted_exscan(team, reduction));
    if (reduction->bytes == 0)
        return SB_OK;
    const void *own = team->rank == 0 ? reduction->send : reduction->receive;
    const sb_stream_t stream = {.base = (char *)(uintptr_t)own, .bytes = reduction->bytes};
    return sb_bcast(&sb_bcast_ring, team, 0, &stream);
}

static sb_status_t prepare_exscan(sb_team_t *team)
{
    return team->size == 2 ? sb_rings_prepare(team) : sb_workspace_prepare(team);
}

static double cost_of_exscan(const sb_shape_t *shape, size_t bytes)
{
    return shape->ranks == 2 ? sb_bcast_ring.cost(shape, bytes)
                             : sb_reduction_rings_scan_cost(shape, bytes);
}

#define RINGS(of, prepares, costs, function, what)                                                 \
    {                                                                                              \
        .name = "rings", .collective = of,                                                         \
        .doc = "Every rank puts its vector into its ring, in windows; each combines those of the " \
               "ranks before it as they come." what,                                               \
        .source = "Sobor; see docs/reductions.md", .prepare = prepares, .cost = costs,             \
        .reduction = function,                                                                     \
    }

const sb_algorithm_t sb_scan_rings =
    RINGS(SB_SCAN, sb_workspace_prepare, sb_reduction_rings_scan_cost, scan, "");
const sb_algorithm_t sb_exscan_rings = RINGS(SB_EXSCAN, prepare_exscan, cost_of_exscan, exscan,
                                             " Of two ranks the first broadcasts its own.");
