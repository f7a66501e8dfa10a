/* SPDX-License-Identifier: BSD-3-Clause */
#include "baseline/barriers.h"

static sb_status_t make(sb_team_t *team)
{
    const sb_resource_size_t size = {.own = sizeof(sb_resource_t),
                                     .bytes = sizeof(sb_barrier_block_t),
                                     .least = sizeof(sb_barrier_block_t),
                                     .willing = true};

    return sb_resource_make(team, SB_RESOURCE_BARRIERS, &size);
}

static const sb_resource_kind_t kind = {SB_RESOURCE_BARRIERS, make};

sb_status_t sb_barrier_blocks_prepare(sb_team_t *team)
{
    return sb_resource_need(team, &kind);
}
