/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of a mesh that are asked for before they are used: to be read, or to be written. */
#include "coll/vector/message.h"

/* Of a piece of few ranks' messages. */
#define FETCHED_MOST ((size_t)1 << 10)

/* Of so many bytes in all the first have not left the cache when they are wanted. */
#define FETCHED_TOGETHER ((size_t)16 << 10)

/* So much is taken from other cores for the next call: a usual fragment. They come one behind the
 * other while the rank leaves and comes again, and for its stores it would wait one by one. */
#define PREFETCHED sb_flow_piece_usual(0)

/* Whether the lines of a message like this one are taken ahead. */
static bool takes_ahead(sb_mesh_t *mesh, size_t bytes)
{
    sb_ahead_t *ahead = &mesh->ahead[sb_ahead_class(bytes)];

    if (SB_UNLIKELY(ahead->left == 0))
        return sb_ahead_turn(ahead, sb_now_ns());
    ahead->left--;
    return ahead->on;
}

/* The first lines of the next part, if it is staged like this one. */
static size_t prefetch_staged(sb_mesh_t *mesh, const sb_sending_t *sending, size_t most)
{
    const sb_outlet_t *out = sb_outlet(mesh, sending->peer);
    sb_cursor_t next = out->cursor;

    if (sending->route != SB_ROUTE_STAGED || sending->window != NULL ||
        sending->mode == SB_COPY_NON_TEMPORAL || !takes_ahead(mesh, sending->stream->bytes))
        return 0;
    size_t bytes =
        sb_min(sb_cursor_piece(&next, sb_min(sending->fragment, sending->stream->bytes)), most);
    if (!sb_flow_has_room(&out->staged, next.position + bytes))
        return 0;
    sb_fetch_to_write(out->area + sb_cursor_place(&next), bytes);
    return bytes;
}

void sb_prefetch_area(sb_team_t *team, const sb_sending_t *sending, uint32_t messages)
{
    if (!team->oversubscribed)
        prefetch_staged(sb_mesh(team), sending, PREFETCHED / messages);
}

/* Whether this rank sent parts in the call before too. */
static bool sends_again(const sb_team_t *team, sb_mesh_t *mesh)
{
    bool again = mesh->dealt == mesh->calls && !team->oversubscribed;

    mesh->dealt = mesh->calls + 1;
    return again;
}

/*
 * What a rank that is ahead writes waits in its processor for the lines, one after the other. So it
 * takes those of the call after the next one, if its message is like this one; at the next one's
 * the reader may be looking by now. Returns the bytes taken.
 */
static size_t prefetch_slot(const sb_mesh_t *mesh, const sb_outlet_t *out, size_t bytes)
{
    sb_slot_t *slot = &out->slot[(mesh->calls + 2) & (mesh->slots - 1)];

    if (!sb_flow_has_room(&out->slots, mesh->calls + 3))
        return 0;
    bytes += offsetof(sb_slot_t, payload);
    sb_fetch_to_write(slot, bytes);
    return bytes;
}

/* The same of one that is so long that its bytes are in the annex. */
static size_t prefetch_annex(sb_mesh_t *mesh, const sb_outlet_t *out, size_t bytes, uint64_t call)
{
    if (!sb_flow_has_room(&out->slots, call + 1) || !takes_ahead(mesh, bytes))
        return 0;
    sb_fetch_to_write(sb_annex_of(mesh, out->annex, call), bytes);
    return bytes;
}

void sb_prefetch_annex(sb_team_t *team, uint32_t peer, size_t bytes)
{
    sb_mesh_t *mesh = sb_mesh(team);

    if (!team->oversubscribed)
        prefetch_annex(mesh, &mesh->peer[peer].out, bytes, mesh->calls + 1);
}

void sb_prefetch_line(sb_team_t *team, uint32_t peer, size_t bytes)
{
    sb_mesh_t *mesh = sb_mesh(team);
    sb_outlet_t *out = &mesh->peer[peer].out;

    if (!sends_again(team, mesh))
        return;
    if ((mesh->calls & (mesh->slots / 2 - 1)) == 0)
        sb_flow_look_credit(&out->slots, mesh->calls);
    prefetch_slot(mesh, out, bytes);
}

void sb_prefetch_slots(sb_team_t *team, const sb_stream_t *parts, const sb_sending_t *sending,
                       uint32_t count)
{
    sb_mesh_t *mesh = sb_mesh(team);
    uint32_t turn = mesh->slots / 2;
    size_t most = PREFETCHED;

    if (!sends_again(team, mesh))
        return;
    for (uint32_t i = 0; i + 1 < team->size; i++) {
        uint32_t peer = mesh->far_first[i];
        size_t bytes = parts[peer].bytes;
        if (((mesh->calls + i) & (turn - 1)) == 0)
            sb_flow_look_credit(&mesh->peer[peer].out.slots, mesh->calls);
        if (bytes > 0 && bytes <= SB_SLOT_PAYLOAD && most >= sizeof(sb_slot_t))
            most -= prefetch_slot(mesh, &mesh->peer[peer].out, bytes);
        else if (SB_UNLIKELY(bytes > SB_SLOT_PAYLOAD && bytes <= sb_min(mesh->at_once, most)))
            most -= prefetch_annex(mesh, &mesh->peer[peer].out, bytes, mesh->calls + 2);
    }
    for (uint32_t i = 0; i < count; i++)
        most -= prefetch_staged(mesh, &sending[i], most);
}

void sb_prefetch_part(const sb_team_t *team, uint32_t from, const sb_stream_t *part)
{
    const sb_mesh_t *mesh = sb_mesh(team);
    const sb_slot_t *slot = sb_slot_now(mesh, mesh->peer[from].one.slot);

    if (part->bytes > SB_SLOT_PAYLOAD)
        sb_team_meanwhile(team, &slot->flag, mesh->calls + 1, NULL, part->base,
                          sb_flow_first(part->bytes));
}

/*
 * The longest piece that is fetched together with those of other messages. What all read at the
 * same time they would keep from each other.
 */
static size_t fetched_most(const sb_team_t *team, const sb_receiving_t *receiving)
{
    size_t share = sb_min(FETCHED_TOGETHER / team->size, FETCHED_MOST);

    return receiving->of_all ? SB_FETCHED : sb_max(share, SB_FETCHED);
}

/* What lies behind the line of the announcement. */
static void fetch_payload(const sb_team_t *team, const sb_receiving_t *receiving,
                          const sb_slot_t *slot)
{
    sb_mesh_t *mesh = sb_mesh(team);
    const sb_inlet_t *in = sb_inlet(mesh, receiving);
    uint32_t note = sb_flag_note(&slot->flag);

    if (note <= in->slot_most)
        sb_fetch_ahead(sb_travelled(mesh, in, note), sb_min(note, fetched_most(team, receiving)));
    if (note != SB_NOTE_PLAN || receiving->exposed.address != 0)
        return;
    if (receiving->first <= fetched_most(team, receiving))
        sb_fetch_ahead(sb_arrived_at(in, receiving), receiving->first);
}

/* Notes the announcements that have come. Whether there is more than these. */
static bool look_at_announcements(sb_mesh_t *mesh, sb_receiving_t *receiving, uint32_t count)
{
    bool behind = false;

    for (uint32_t i = 0; i < count; i++) {
        const sb_flag_t *flag = &sb_slot_now(mesh, sb_inlet(mesh, &receiving[i])->slot)->flag;
        if (receiving[i].opened || receiving[i].announced || sb_flag_read(flag) <= mesh->calls)
            continue;
        receiving[i].announced = true;
        behind = behind || sb_flag_note(flag) > SB_SLOT_IN_LINE;
    }
    return behind;
}

/* Nothing that is done to one message keeps another from coming: so first all flags. */
sb_status_t sb_prefetch_messages(sb_team_t *team, sb_receiving_t *receiving, uint32_t count)
{
    sb_mesh_t *mesh = sb_mesh(team);
    sb_status_t status = SB_OK;

    if (!look_at_announcements(mesh, receiving, count))
        return SB_OK;
    for (uint32_t i = 0; i < count && status == SB_OK; i++) {
        const sb_slot_t *slot = sb_slot_now(mesh, sb_inlet(mesh, &receiving[i])->slot);
        if (receiving[i].announced && !receiving[i].opened &&
            sb_flag_note(&slot->flag) == SB_NOTE_PLAN)
            status = sb_open_message(team, &receiving[i]);
    }
    for (uint32_t i = 0; i < count && status == SB_OK; i++) {
        if (receiving[i].announced && receiving[i].offset == 0)
            fetch_payload(team, &receiving[i],
                          sb_slot_now(mesh, sb_inlet(mesh, &receiving[i])->slot));
    }
    return status;
}
