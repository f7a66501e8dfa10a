/* SPDX-License-Identifier: BSD-3-Clause */
/* Where parts come to lie: this rank's own, and pieces of what others have sent. */
#include "coll/vector/message.h"

#define OWN_BOUNCE 4096

sb_status_t sb_copy_own_stream(const sb_stream_t *from, const sb_stream_t *to)
{
    size_t bytes = sb_min(from->bytes, to->bytes);
    sb_status_t status = SB_OK;
    char bounce[OWN_BOUNCE];

    if (bytes > 0 && from->base != NULL)
        status = sb_stream_write(to, 0, from->base, bytes);
    else if (bytes > 0 && to->base != NULL)
        status = sb_stream_read(from, 0, to->base, bytes);
    for (size_t at = 0; to->base == NULL && from->base == NULL && at < bytes; at += OWN_BOUNCE) {
        size_t count = sb_min(OWN_BOUNCE, bytes - at);
        status = sb_first(status, sb_stream_read(from, at, bounce, count));
        if (status == SB_OK)
            status = sb_stream_write(to, at, bounce, count);
    }
    return status == SB_OK && from->bytes > to->bytes ? SB_ERR_TRUNCATE : status;
}

/* With the heap what whole loops take counts, of which the copies of a call say little. Of more
 * ranks there are many parts in a call, and a mode of it stores them past the caches. Who says how
 * stores are to be made has them so. */
bool sb_lands_fresh(const sb_team_t *team, sb_landed_t *landed, const sb_stream_t *to)
{
    if (team->size != 2 || team->oversubscribed || team->settings.loads ||
        team->settings.stores != SB_STORES_AUTO || to->base == NULL || to->bytes < SB_FRESH_LEAST)
        return false;
    bool before = sb_copy_used_before(landed->last[sb_copy_class(to->bytes)], to->base);
    return !before || 2 * to->bytes > sb_mesh(team)->cached_most;
}

sb_status_t sb_copy_own_as(const sb_team_t *team, sb_copy_mode_t mode, const sb_stream_t *from,
                           const sb_stream_t *to)
{
    sb_mesh_t *mesh = sb_mesh(team);
    bool streams = mode == SB_COPY_NON_TEMPORAL && !sb_sender_streams(team);
    size_t bytes = sb_min(from->bytes, to->bytes);

    if (from->base == NULL || to->base == NULL)
        return sb_copy_own(from, to);
    if (streams)
        sb_copy_streaming(to->base, from->base, bytes);
    else if (sb_lands_fresh(team, &mesh->landed[SB_LANDED_OWN], to))
        sb_copy_fresh(to->base, from->base, bytes, bytes, false);
    else
        return sb_copy_own(from, to);
    return from->bytes > to->bytes ? SB_ERR_TRUNCATE : SB_OK;
}

void sb_land(sb_receiving_t *receiving, const char *from, size_t bytes)
{
    const sb_stream_t *stream = receiving->stream;
    size_t room = stream->bytes, offset = receiving->offset;

    if (receiving->data != SB_OK || offset >= room)
        return;
    bytes = sb_min(bytes, room - offset);
    if (receiving->non_temporal && bytes > SB_SLOT_PAYLOAD)
        receiving->data = sb_stream_write_non_temporal(stream, offset, from, bytes);
    else if (receiving->fresh)
        sb_copy_fresh(stream->base + offset, from, bytes, receiving->bytes, true);
    else
        receiving->data = sb_stream_write_far(stream, offset, from, bytes);
}
