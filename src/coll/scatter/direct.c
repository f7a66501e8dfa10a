/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter over the root's flows: the root writes every part into the flow to its rank, to far ranks
 * first, all that there is room for without waiting for anybody; then it goes on with those that
 * have made room, and waits only if nobody has. So a rank that comes late holds up nobody else as
 * long as one of them has room, and a part is received while others are dealt. Up to
 * SB_SLOT_IN_LINE bytes are in the flag's own line. A root that deals again takes the lines of
 * later parts ahead, and a receiver that is behind fetches those of the next. Cost: one line
 * transfer for a short part, p - 1 lines written by the root; two copies of each byte of a long
 * one, the root's one after the other, the others' at the same time. Memory: the mesh
 * (coll/vector/mesh.h). Preconditions: the mesh. Source: this project.
 *
 * No deadlock: the root waits for a rank to have read what it has sent it, and every other rank
 * waits for the root alone. A receiver reads all that has come before it waits again.
 */
#include "coll/vector/short.h"
#include "coll/vector/vector.h"

/* Whether the others copy long parts from where they are. */
static void prefer(sb_team_t *team, uint32_t count, size_t total)
{
    sb_sending_t *sending = sb_mesh(team)->sending;
    sb_prefer_t way = count > 0 ? sb_dealing_choose(team, sending, count) : SB_PREFER_BY_SIZE;

    for (uint32_t i = 0; i < count; i++) {
        size_t bytes = sending[i].stream->bytes;
        if (sb_exposing_waits(team) && bytes >= sb_mesh(team)->measured_least)
            sending[i].prefer = way;
        else if (sb_sharing_pays(team, bytes, total))
            sending[i].prefer = SB_PREFER_EXPOSED;
    }
}

/*
 * The root's messages: to far ranks first, because near ones, which travel for less long, may come
 * later. Returns how many did not leave at once.
 */
static uint32_t set_up(sb_team_t *team, const sb_parts_t *parts)
{
    sb_mesh_t *mesh = sb_mesh(team);
    uint32_t count = 0;
    size_t total = 0;

    for (uint32_t i = 0; i + 1 < team->size; i++) {
        uint32_t peer = mesh->far_first[i];
        const sb_stream_t *part = &parts->send[peer];
        if (sb_send_at_once(mesh, &mesh->peer[peer].out, part))
            continue;
        mesh->sending[count++] = (sb_sending_t){.stream = part, .peer = peer};
        total += part->bytes;
    }
    prefer(team, count, total);
    if (count == 1)
        sb_sole_choose(team, mesh->sending);
    return count;
}

/* One round of sending without waiting. Keeps the messages that are not done, returns how many. */
static sb_status_t send_round(sb_team_t *team, uint32_t *count, bool *progress, sb_status_t *data)
{
    sb_sending_t *sending = sb_mesh(team)->sending;
    uint32_t left = 0;

    *progress = false;
    for (uint32_t i = 0; i < *count; i++) {
        size_t before = sending[i].offset;
        sb_status_t status = sb_send(team, &sending[i], SIZE_MAX, false);
        if (status != SB_OK)
            return status;
        *progress = *progress || sending[i].offset > before;
        if (sb_sent(&sending[i]))
            *data = sb_first(*data, sending[i].data);
        else if (left++ != i)
            sending[left - 1] = sending[i];
    }
    *count = left;
    return SB_OK;
}

static sb_status_t deal(sb_team_t *team, const sb_parts_t *parts)
{
    sb_sending_t *first = sb_mesh(team)->sending;
    uint32_t messages = set_up(team, parts), count = messages;
    sb_status_t status, data = SB_OK;
    bool progress = true;

    status = count > 0 ? send_round(team, &count, &progress, &data) : SB_OK;
    if (!parts->in_place)
        data = sb_first(data, sb_copy_own_part(team, &parts->send[team->rank], parts->receive));
    if (status == SB_OK && count == 0)
        sb_prefetch_slots(team, parts->send, first, messages);
    while (status == SB_OK && count > 0) {
        /* Nobody has made room: the next piece of one of them. */
        if (!progress)
            status = sb_send(team, first, first->offset + 1, true);
        if (status == SB_OK)
            status = send_round(team, &count, &progress, &data);
    }
    return sb_first(status, data);
}

/* A part that was there when it was looked for comes from a root that is ahead: so is the next. */
static sb_status_t receive(sb_team_t *team, const sb_parts_t *parts, sb_status_t *data)
{
    sb_mesh_t *mesh = sb_mesh(team);
    const sb_inlet_t *in = &mesh->peer[parts->root].one;

    if (!sb_receive_at_once(mesh, parts->root, in, parts->receive)) {
        sb_sole_arrive(team, parts->root, parts->receive, true);
        sb_prefetch_part(team, parts->root, parts->receive);
        return sb_receive_whole(team, parts->root, false, parts->receive, data);
    }
    sb_fetch_next(mesh, in, parts->receive->bytes);
    return SB_OK;
}

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    sb_status_t status, data = SB_OK;

    if (team->rank == parts->root)
        status = deal(team, parts);
    else
        status = receive(team, parts, &data);
    status = sb_mesh_finish(team, sb_first(status, data));
    if (SB_UNLIKELY(sb_mesh(team)->crowded))
        sb_dealing_ended(team);
    return status;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double others = shape->ranks - 1;

    return price->line + others * (4 * price->own_line + price->byte * (double)bytes) +
           price->byte * (double)bytes + sb_cost_turns(shape, 1);
}

#define DIRECT(of)                                                                                 \
    {                                                                                              \
        .name = "direct", .collective = of,                                                        \
        .doc = "The root writes each part into its flow to that rank, without waiting for the "    \
               "others.",                                                                          \
        .source = "Sobor; see docs/scatter-gather.md", .prepare = sb_mesh_prepare, .cost = cost,   \
        .parts = run,                                                                              \
    }

const sb_algorithm_t sb_scatter_direct = DIRECT(SB_SCATTER);
const sb_algorithm_t sb_scatterv_direct = DIRECT(SB_SCATTERV);
