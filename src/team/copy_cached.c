/* SPDX-License-Identifier: BSD-3-Clause */
/* What of a call's data fits the caches that its ranks share. */
#include "team/copy_policy.h"

#include "base/config.h"
#include "topology/topology.h"

size_t sb_copy_cached_most(const sb_team_t *team)
{
    const sb_topology_t *topology = sb_team_topology(team);
    const sb_locality_t *locality = &team->locality;
    uint32_t sharers = 0;

    if (team->settings.stores != SB_STORES_AUTO)
        return team->settings.stores == SB_STORES_STREAMING ? SB_COPY_LEAST - 1 : SIZE_MAX;
    if (topology == NULL || locality->unit == NULL)
        return SIZE_MAX;
    int16_t unit = locality->unit[team->rank][SB_LEVEL_L3];
    size_t cache = sb_topology_cache(topology, SB_LEVEL_L3);
    for (uint32_t rank = 0; rank < team->size; rank++)
        sharers += locality->unit[rank][SB_LEVEL_L3] == unit;
    return unit == SB_NO_UNIT || cache == 0 ? SIZE_MAX : cache / sharers / 2;
}
