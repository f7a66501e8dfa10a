/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_VECTOR_VECTOR_H
#define SB_COLL_VECTOR_VECTOR_H

#include "coll/coll.h"

/*
 * The algorithms of the operations that move parts of data between the ranks of a team; sb_parts_t
 * says what each rank gives and takes. Each is registered for the regular operation and for those
 * with counts of their own. Where a rank sends more bytes than the other expects, that other gets
 * SB_ERR_TRUNCATE and writes nothing beyond its stream; where it sends fewer, the other has what
 * there is, as with the hosts, and the rest stays as it was: programs give the room that they have.
 * The team stays in order. A rank leaves when what it sends is on its way and what it receives is
 * there.
 */

/* Lines of private memory that calls of few bytes look at, one by the address that the other has:
 * to be fetched together. Those of the mesh, once the team has one. */
#define SB_NEAR_LINES 2
void sb_mesh_near(const sb_team_t *team, const void *near[SB_NEAR_LINES]);

/* The bytes of all streams. */
static inline size_t sb_streams_bytes(const sb_stream_t *streams, uint32_t count)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < count; i++)
        bytes += streams[i].bytes;
    return bytes;
}

/* As sb_copy_own, where one of both has functions. */
sb_status_t sb_copy_own_stream(const sb_stream_t *from, const sb_stream_t *to);

/* This rank's own part, from one stream to the other. */
static inline sb_status_t sb_copy_own(const sb_stream_t *from, const sb_stream_t *to)
{
    if (SB_UNLIKELY(from->base == NULL || to->base == NULL))
        return sb_copy_own_stream(from, to);
    sb_copy(to->base, from->base, sb_min(from->bytes, to->bytes));
    return from->bytes > to->bytes ? SB_ERR_TRUNCATE : SB_OK;
}

#endif
