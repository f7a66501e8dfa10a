/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages that messages of a mesh pass through are made before they do, and no others. */
#include "coll/vector/message.h"

/* Of the own one of two windows a message takes the beginning. */
static void touch_window(sb_mesh_t *mesh, size_t bytes)
{
    sb_swap_t *swap = &mesh->swap;
    size_t end = sb_min(sb_round_up(bytes, SB_PAGE), swap->bytes);

    if (end <= swap->touched)
        return;
    sb_arena_touch(&mesh->resource.block, swap->begin + swap->touched, swap->begin + end);
    swap->touched = end;
}

/* So it is for the rank that changes to windows first, in the next call. */
bool sb_lacks_window(const sb_mesh_t *mesh, const sb_sending_t *sending)
{
    return sending->exchanged && sending->stream->bytes <= mesh->swap.bytes &&
           mesh->swap.count == 0 &&
           mesh->resource.touched < sb_window_end(mesh, SB_COPY_CACHED, false);
}

/* Where ranks share processors each may send to few, and a message goes round in little. Where they
 * do not, what pages of a way cost is known of all areas. */
void sb_outlet_reach(const sb_team_t *team, sb_outlet_t *out, const sb_sending_t *sending,
                     size_t end)
{
    sb_mesh_t *mesh = sb_mesh(team);
    sb_resource_t *resource = &mesh->resource;
    size_t begin = (size_t)(out->area - resource->bases[team->rank]);

    if (sending->window != NULL) {
        touch_window(mesh, sending->stream->bytes);
    } else if (!team->oversubscribed || team->size == 2) {
        sb_resource_reach(resource, sb_window_end(mesh, sending->mode, sending->sole));
    } else if (end > out->touched) {
        sb_arena_touch(&resource->block, begin + out->touched, begin + end);
        out->touched = end;
    }
}
