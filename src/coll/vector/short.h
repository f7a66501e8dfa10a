/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_VECTOR_SHORT_H
#define SB_COLL_VECTOR_SHORT_H

#include "coll/vector/mesh.h"

/*
 * Short messages of a mesh: those that travel in the slot of their call, or in its annex, whose
 * place follows from that of the slot. So nothing has to be said of one but its bytes, and its
 * reader waits for the flag's line and then for all others at the same time.
 */

/* The slot of the present call, of those from `first` on. */
static inline sb_slot_t *sb_slot_now(const sb_mesh_t *mesh, sb_slot_t *first)
{
    return &first[mesh->calls & (mesh->slots - 1)];
}

/* A message from the peer in this call: it is done with the calls before. */
static inline void sb_heard(sb_mesh_t *mesh, uint32_t from)
{
    sb_flow_credit(&mesh->peer[from].out.slots, mesh->calls);
}

/* The annex of that call, of those from `first` on. */
static inline char *sb_annex_of(const sb_mesh_t *mesh, const char *first, uint64_t call)
{
    return (char *)first + (call & (mesh->slots - 1)) * mesh->annex;
}

/* The bytes of a message that is too long for the slot itself go behind it. */
static inline sb_status_t sb_put_annex(const sb_mesh_t *mesh, const sb_outlet_t *out,
                                       const sb_stream_t *stream)
{
    char *annex = sb_annex_of(mesh, out->annex, mesh->calls);

    if (stream->base == NULL)
        return sb_stream_read(stream, 0, annex, stream->bytes);
    sb_copy_shared(annex, stream->base, stream->bytes);
    return SB_OK;
}

/* Fills the slot of the present call with a message that has room in it. */
static inline sb_status_t sb_put_short(const sb_mesh_t *mesh, const sb_outlet_t *out,
                                       const sb_stream_t *stream)
{
    sb_slot_t *slot = sb_slot_now(mesh, out->slot);
    size_t bytes = stream->bytes;
    sb_status_t data;

    /* The line that the reader looks at comes last, and with all that it holds. */
    size_t line = stream->base == NULL ? bytes : sb_min(bytes, SB_SLOT_IN_LINE);
    if (SB_UNLIKELY(bytes > SB_SLOT_PAYLOAD)) {
        data = sb_put_annex(mesh, out, stream);
    } else {
        if (bytes > line)
            sb_copy_shared(slot->payload + line, stream->base + line, bytes - line);
        data = sb_stream_read(stream, 0, slot->payload, line);
    }
    sb_flag_set_note(&slot->flag, (uint32_t)bytes);
    sb_flag_publish(&slot->flag, mesh->calls + 1);
    return data;
}

/* Whether a message of up to `most` bytes has room in the slot, and that is known to be free. */
static inline bool sb_leaves_at_once(const sb_mesh_t *mesh, const sb_outlet_t *out,
                                     const sb_stream_t *part, size_t most)
{
    return part->bytes <= most && part->base != NULL &&
           sb_flow_has_room(&out->slots, mesh->calls + 1);
}

/* The longest part that leaves at once where all send each other one: of several ranks the others'
 * flags had better be looked at before what lies behind one of them. */
static inline size_t sb_exchanged_at_once(const sb_team_t *team, const sb_mesh_t *mesh)
{
    return team->size == 2 ? sb_min(mesh->at_once, SB_SLOT_PAYLOAD) : SB_SLOT_IN_LINE;
}

/*
 * What most calls of few bytes need: the part leaves in its slot. False: it takes the usual way
 * (sb_send).
 */
static inline bool sb_send_at_once(const sb_mesh_t *mesh, const sb_outlet_t *out,
                                   const sb_stream_t *part)
{
    if (!sb_leaves_at_once(mesh, out, part, mesh->at_once))
        return false;
    if (SB_LIKELY(part->bytes > 0))
        (void)sb_put_short(mesh, out, part);
    return true;
}

/* Where the bytes of a message in the slot of the present call are. */
static inline const void *sb_travelled(const sb_mesh_t *mesh, const sb_inlet_t *in, size_t bytes)
{
    if (SB_UNLIKELY(bytes > SB_SLOT_PAYLOAD))
        return sb_annex_of(mesh, in->annex, mesh->calls);
    return sb_slot_now(mesh, in->slot)->payload;
}

/*
 * The other end: a message that has come, is as long as it should be and travels in its slot alone.
 * False: it takes the usual way (sb_receive).
 */
static inline bool sb_receive_at_once(sb_mesh_t *mesh, uint32_t from, const sb_inlet_t *in,
                                      const sb_stream_t *part)
{
    sb_slot_t *slot = sb_slot_now(mesh, in->slot);

    if (part->bytes == 0)
        return true;
    if (part->bytes > in->slot_most || part->base == NULL || mesh->invitations > 0 ||
        sb_flag_read(&slot->flag) <= mesh->calls || sb_flag_note(&slot->flag) != part->bytes)
        return false;
    sb_heard(mesh, from);
    sb_copy(part->base, sb_travelled(mesh, in, part->bytes), part->bytes);
    return true;
}

/* So much of a message is asked for ahead: more keeps the core busy by itself. */
#define SB_FETCHED ((size_t)256)

/*
 * A message of so many bytes was there when it was looked for: its sender is ahead, and the next
 * one may be there too. Its lines come while this rank is busy otherwise. If it is not there yet,
 * this rank still has those lines of the last round, and nothing is asked of anybody.
 */
static inline void sb_fetch_next(const sb_mesh_t *mesh, const sb_inlet_t *in, size_t bytes)
{
    const sb_slot_t *slot = &in->slot[(mesh->calls + 1) & (mesh->slots - 1)];

    if (SB_UNLIKELY(bytes > SB_SLOT_PAYLOAD)) {
        sb_fetch_ahead(sb_annex_of(mesh, in->annex, mesh->calls + 1), sb_min(bytes, SB_FETCHED));
        bytes = 0;
    }
    sb_fetch_ahead(slot, offsetof(sb_slot_t, payload) + bytes);
}

#endif
