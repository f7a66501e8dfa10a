/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/team.h"

#include "base/lines.h"

#include <stdlib.h>

static sb_wish_t wish_for(const sb_resource_size_t *size, bool willing)
{
    return (sb_wish_t){size->bytes, size->least, size->near == 0 ? size->bytes : size->near,
                       size->willing && willing};
}

sb_status_t sb_resource_make(sb_team_t *team, uint32_t slot, const sb_resource_size_t *size)
{
    sb_lazy_segment_t segment = {0};
    sb_resource_t *made = sb_alloc_lines(size->own);
    const sb_wish_t wish = wish_for(size, made != NULL);
    sb_status_t status = sb_lazy_segment_make(team, &segment, &wish);

    if (status == SB_OK) {
        made->segment = segment;
        team->resource[slot] = made;
        return SB_OK;
    }
    free(made);
    if (status == SB_ERR_UNSUPPORTED)
        team->refused |= 1u << slot;
    return status;
}

sb_status_t sb_resource_renew(sb_team_t *team, uint32_t slot, const sb_resource_size_t *size)
{
    sb_lazy_segment_t segment = {0}, *old = &team->resource[slot]->segment;
    const sb_wish_t wish = wish_for(size, true);
    sb_status_t status = sb_lazy_segment_make(team, &segment, &wish);

    if (status != SB_OK)
        return status;
    sb_lazy_segment_leave(old, team->size);
    sb_arena_give(&old->block);
    *old = segment;
    return SB_OK;
}

sb_status_t sb_resource_prepare(sb_team_t *team, const sb_resource_kind_t *kind)
{
    bool refused = (team->refused & 1u << kind->slot) != 0;

    return refused ? SB_ERR_UNSUPPORTED : kind->prepare(team);
}
