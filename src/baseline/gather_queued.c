/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The published Gatherv: the root waits for a set of slots to be free and publishes the counts that
 * it expects; each rank copies fragments into its own queue and announces their sizes; the root
 * drains all queues, slot by slot, in rank order. From the counts everybody knows how many turns of
 * sets the call takes, and counts itself off each one, with or without data. Cost: for each turn p
 * atomic additions to one line, which p - 1 ranks watch another for; for each fragment one line
 * transfer; two copies of each byte, the root's one after the other. Memory: s (f + 128 (p + 1)) +
 * w (384 + 136 p) bytes a rank. Preconditions: the queues. Source: the shared queues of Romanyuta
 * and Kurnosov, 2022.
 *
 * No deadlock: in each turn the root claims the set, which all have left w turns before, and tells
 * so; then the others fill what the counts say, and the root reads just that.
 */
#include "baseline/queues.h"
#include "coll/vector/vector.h"

/* One fragment of this rank's part: as many as the root's count says, if need be empty ones. */
static sb_status_t put(sb_team_t *team, uint32_t index, const sb_stream_t *part, size_t offset,
                       size_t wanted)
{
    const sb_queues_t *queues = sb_queues(team);
    size_t left = part->bytes > offset ? part->bytes - offset : 0;
    size_t bytes = sb_min(sb_min(queues->fragment, wanted - offset), left);
    bool more = left > bytes && offset + bytes == wanted;
    sb_flag_t *ctrl = sb_queue_ctrl(team, team->rank, index);
    sb_status_t data = SB_OK;

    if (bytes > 0)
        data = sb_stream_read(part, offset, sb_queue_slot(team, team->rank, index), bytes);
    sb_flag_set_note(ctrl, (uint32_t)bytes | (more ? SB_QUEUE_MORE : 0));
    sb_flag_publish(ctrl, queues->ring.uses + 1);
    return data;
}

static sb_status_t send(sb_team_t *team, const sb_stream_t *part)
{
    sb_queues_t *queues = sb_queues(team);
    sb_status_t data = SB_OK, status = sb_queue_read_counts(team);
    size_t offset = 0;

    if (status != SB_OK)
        return status;
    size_t wanted = (size_t)queues->own[team->rank];
    for (uint64_t turns = sb_queue_turns(team); turns > 0; turns--) {
        status = sb_setring_enter(team, &queues->ring);
        if (status != SB_OK)
            return status;
        for (uint32_t i = 0; i < queues->ring.per_set && offset < wanted; i++) {
            sb_status_t put_status =
                put(team, sb_setring_buffer(&queues->ring, i), part, offset, wanted);
            data = sb_first(data, put_status);
            offset += queues->fragment;
        }
        sb_setring_leave(&queues->ring);
    }
    return data;
}

/* Takes one fragment of the part; `came`: the bytes of it so far. */
static sb_status_t drain(sb_team_t *team, uint32_t rank, uint32_t index, const sb_stream_t *part,
                         uint64_t *came, sb_status_t *data)
{
    bool more;
    sb_status_t status = sb_queue_take(team, sb_queue_ctrl(team, rank, index),
                                       sb_queue_slot(team, rank, index), part, came, &more, data);

    if (status == SB_OK && more)
        *data = sb_first(*data, SB_ERR_TRUNCATE);
    return status;
}

static sb_status_t receive(sb_team_t *team, const sb_stream_t *parts)
{
    sb_queues_t *queues = sb_queues(team);
    uint64_t *came = queues->own;
    sb_status_t data = SB_OK, status = sb_setring_claim(team, &queues->ring);
    size_t offset = 0;

    if (status != SB_OK)
        return status;
    sb_queue_publish_counts(team, parts);
    uint64_t turns = sb_queue_turns(team);
    for (uint32_t rank = 0; rank < team->size; rank++)
        came[rank] = 0;
    for (; turns > 0 && status == SB_OK; turns--) {
        status = offset == 0 ? SB_OK : sb_setring_claim(team, &queues->ring);
        if (status != SB_OK)
            return status;
        for (uint32_t i = 0; i < queues->ring.per_set; i++, offset += queues->fragment) {
            for (uint32_t rank = 0; rank < team->size && status == SB_OK; rank++) {
                if (rank != team->rank && offset < parts[rank].bytes)
                    status = drain(team, rank, sb_setring_buffer(&queues->ring, i), &parts[rank],
                                   &came[rank], &data);
            }
        }
        sb_setring_leave(&queues->ring);
    }
    return sb_first(status, data);
}

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    sb_status_t data = SB_OK;

    if (team->rank != parts->root)
        return send(team, parts->send);
    if (!parts->in_place)
        data = sb_copy_own(parts->send, &parts->receive[team->rank]);
    return team->size == 1 ? data : sb_first(receive(team, parts->receive), data);
}

/* As the direct one, and a line for each rank to be told and to count itself off. */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double others = shape->ranks - 1;

    return price->line * (3 + 2 * others) + price->byte * (double)bytes * (others + 1) +
           sb_cost_turns(shape, 3);
}

#define QUEUED(of)                                                                                 \
    {                                                                                              \
        .name = "queued", .collective = of,                                                        \
        .doc =                                                                                     \
            "Every rank fills its own queue as the root's counts say; the root drains them, in "   \
            "sets of slots that all leave. The published algorithm.",                              \
        .source = "Romanyuta, Kurnosov 2022, shared queues", .on_request = true,                   \
        .prepare = sb_queues_prepare, .cost = cost, .parts = run,                                  \
    }

const sb_algorithm_t sb_gather_queued = QUEUED(SB_GATHER);
const sb_algorithm_t sb_gatherv_queued = QUEUED(SB_GATHERV);
