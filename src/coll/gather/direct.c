/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather over flows to the root: every rank writes its part into its flow to the root as soon as it
 * comes, without waiting for a turn, and leaves when it is in. The root takes from all what is
 * there, and waits only if nothing is. Up to SB_SLOT_IN_LINE bytes are in the flag's own line. Of
 * two ranks the one that sends a word again takes the line of a later one ahead, and the root
 * that is behind fetches those of the next. Cost: the root reads p - 1 lines of short parts; two
 * copies of each byte of long ones, the root's one after the other, the others' at the same time.
 * Memory: the mesh (coll/vector/mesh.h). Preconditions: the mesh. Source: this project.
 *
 * No deadlock: a rank waits for the root to read what it has sent, or to begin, which it does
 * without waiting; the root waits only for a rank of which it has read all that was sent.
 */
#include "coll/vector/short.h"
#include "coll/vector/vector.h"

/*
 * The root's messages, those of the next ranks first, but for those of one line that have come, or
 * of one slot from the only other rank. Returns how many there are.
 */
static uint32_t set_up(sb_team_t *team, const sb_parts_t *parts)
{
    sb_mesh_t *mesh = sb_mesh(team);
    size_t at_once = team->size == 2 ? mesh->at_once : SB_SLOT_IN_LINE;
    uint32_t count = 0;

    for (uint32_t i = 1; i < team->size; i++) {
        uint32_t peer = sb_team_after(team, i);
        const sb_stream_t *part = &parts->receive[peer];
        const sb_inlet_t *in = &mesh->peer[peer].one;
        if (part->bytes > at_once || !sb_receive_at_once(mesh, peer, in, part))
            mesh->receiving[count++] = (sb_receiving_t){.stream = part, .peer = peer};
        else
            sb_fetch_next(mesh, in, part->bytes);
    }
    return count;
}

/* Whether the kernel is to copy a part of so many bytes, if it is to copy any. */
static bool pays(const sb_team_t *team, size_t bytes, size_t total)
{
    return sb_exposing_waits(team) ? sb_collecting_measures(team, bytes)
                                   : sb_sharing_pays(team, bytes, total);
}

/* Has the others put long parts where they belong, all at the same time. */
static void invite(sb_team_t *team, const sb_receiving_t *receiving, uint32_t count)
{
    size_t total = 0;

    for (uint32_t i = 0; i < count; i++)
        total += receiving[i].stream->bytes;
    for (uint32_t i = 0; i < count; i++) {
        size_t bytes = receiving[i].stream->bytes;
        if (pays(team, bytes, total) && !sb_sole_is_staged(sb_mesh(team), bytes))
            sb_invite(team, receiving[i].peer, receiving[i].stream);
    }
}

static sb_status_t collect(sb_team_t *team, const sb_parts_t *parts)
{
    sb_receiving_t *first = sb_mesh(team)->receiving;
    uint32_t count = set_up(team, parts);
    sb_status_t status = SB_OK, data = SB_OK;
    bool progress = true;

    if (count == 1)
        sb_sole_arrive(team, first->peer, first->stream, false);
    if (count > 0 && (!sb_exposing_waits(team) || sb_collecting_choose(team, first, count)))
        invite(team, first, count);
    sb_collecting_begun(team);
    if (!parts->in_place)
        data = sb_copy_own_part(team, parts->send, &parts->receive[team->rank]);
    /* Of one alone there is nothing to choose. */
    if (count == 1 && first->stream->bytes <= sb_mesh(team)->at_once) {
        status = sb_receive_whole(team, first->peer, false, first->stream, &data);
        return sb_first(status, data);
    }
    if (count == 1) {
        status = sb_receive(team, first, SIZE_MAX, true);
        return sb_first(status, sb_first(data, sb_receipt(first)));
    }
    while (status == SB_OK && count > 0) {
        /* Nothing has come: the announcement or the next fragment of one of them. */
        if (!progress)
            status = sb_receive(team, first, first->offset + first->fragment, true);
        if (status == SB_OK)
            status = sb_receive_round(team, &count, SIZE_MAX, false, &progress, &data);
    }
    return sb_first(status, data);
}

/* What a rank has for the root; it cannot know what the others have. */
static sb_sending_t contribution(const sb_team_t *team, const sb_parts_t *parts)
{
    size_t bytes = parts->send->bytes;
    bool waits = sb_exposing_waits(team);
    bool pushed = waits ? sb_collecting_asked(team, parts->root, bytes)
                        : pays(team, bytes, bytes * (team->size - 1));

    return (sb_sending_t){.stream = parts->send,
                          .peer = parts->root,
                          .prefer = pushed  ? SB_PREFER_PUSHED
                                    : waits ? SB_PREFER_STAGED
                                            : SB_PREFER_BY_SIZE};
}

/* Bytes that are one store. */
#define STORED_AT_ONCE 16

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    const sb_mesh_t *mesh = sb_mesh(team);
    sb_status_t outcome = SB_OK;

    if (team->rank == parts->root) {
        outcome = collect(team, parts);
    } else if (sb_send_at_once(mesh, &mesh->peer[parts->root].out, parts->send)) {
        if (team->size == 2 && parts->send->bytes <= STORED_AT_ONCE)
            sb_prefetch_line(team, parts->root, parts->send->bytes);
        else if (parts->send->bytes > SB_SLOT_PAYLOAD)
            sb_prefetch_annex(team, parts->root, parts->send->bytes);
    } else {
        sb_sending_t sending = contribution(team, parts);
        sb_sole_choose(team, &sending);
        if (mesh->crowded && sending.prefer == SB_PREFER_PUSHED && parts->send->base != NULL)
            outcome = sb_collecting_await(team, parts->root);
        if (outcome == SB_OK)
            outcome = sb_send(team, &sending, SIZE_MAX, true);
        sb_prefetch_area(team, &sending, 1);
        outcome = sb_first(outcome, sending.data);
    }
    return sb_mesh_finish(team, outcome);
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double others = shape->ranks - 1;

    return price->line + others * (price->next_line + price->byte * (double)bytes) +
           price->byte * (double)bytes + sb_cost_turns(shape, 1);
}

#define DIRECT(of)                                                                                 \
    {                                                                                              \
        .name = "direct", .collective = of,                                                        \
        .doc = "Every rank writes its part into its flow to the root, which takes what has "       \
               "come.",                                                                            \
        .source = "Sobor; see docs/scatter-gather.md", .prepare = sb_mesh_prepare, .cost = cost,   \
        .parts = run,                                                                              \
    }

const sb_algorithm_t sb_gather_direct = DIRECT(SB_GATHER);
const sb_algorithm_t sb_gatherv_direct = DIRECT(SB_GATHERV);
