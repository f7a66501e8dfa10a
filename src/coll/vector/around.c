/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/vector/around.h"

#include "base/config.h"
#include "topology/cores.h"

/* What SOBOR_STORES=streaming sends past the caches. */
#define LARGE ((size_t)4 << 10)

size_t sb_around_above(const sb_team_t *team)
{
    const sb_topology_t *topology = sb_team_topology(team);
    const sb_homes_t *homes = &team->homes;
    uint32_t sharers = 0;

    if (team->settings.stores != SB_STORES_AUTO)
        return team->settings.stores == SB_STORES_STREAMING ? LARGE - 1 : SIZE_MAX;
    if (topology == NULL || homes->unit == NULL)
        return SIZE_MAX;
    int16_t unit = homes->unit[team->rank][SB_LEVEL_L3];
    size_t cache = sb_topology_cache(topology, SB_LEVEL_L3);
    for (uint32_t rank = 0; rank < team->size; rank++)
        sharers += homes->unit[rank][SB_LEVEL_L3] == unit;
    return unit == SB_NO_UNIT || cache == 0 ? SIZE_MAX : cache / sharers / 2;
}
