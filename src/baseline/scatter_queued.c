/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The published Scatterv: the root waits for a set of slots to be free, publishes the counts with
 * the first set, and deals, slot by slot, one fragment to each rank that still has data, in rank
 * order, into that rank's queue; the control word of the slot says how many bytes there are. From
 * the counts everybody knows how many turns of sets the call takes, and counts itself off each one,
 * with or without data. Cost: for each turn p atomic additions to one line; for each fragment one
 * line transfer; two copies of each byte, the root's one after the other. Memory: s (f + 128 (p +
 * 1)) + w (384 + 136 p) bytes a rank. Preconditions: the queues. Source: the shared queues of
 * Romanyuta and Kurnosov, 2022.
 *
 * No deadlock: the root waits until all have left an earlier turn, for which it has dealt all there
 * was to deal; the others wait for the root alone.
 */
#include "baseline/queues.h"
#include "coll/vector/vector.h"

/* One fragment from `offset` of the part into the slot of its rank. */
static sb_status_t deal(sb_team_t *team, uint32_t rank, uint32_t index, const sb_stream_t *part,
                        size_t offset)
{
    const sb_queues_t *queues = sb_queues(team);
    size_t bytes = sb_min(queues->fragment, part->bytes - offset);
    sb_flag_t *ctrl = sb_queue_ctrl(team, rank, index);
    sb_status_t data = sb_stream_read(part, offset, sb_queue_slot(team, rank, index), bytes);

    sb_flag_set_note(ctrl, (uint32_t)bytes);
    sb_flag_publish(ctrl, queues->ring.uses + 1);
    return data;
}

static sb_status_t send(sb_team_t *team, const sb_stream_t *parts)
{
    sb_queues_t *queues = sb_queues(team);
    sb_status_t data = SB_OK, status = sb_setring_claim(team, &queues->ring);
    size_t offset = 0;

    if (status != SB_OK)
        return status;
    sb_queue_publish_counts(team, parts);
    for (uint64_t turns = sb_queue_turns(team); turns > 0; turns--) {
        status = offset == 0 ? SB_OK : sb_setring_claim(team, &queues->ring);
        if (status != SB_OK)
            return status;
        for (uint32_t i = 0; i < queues->ring.per_set; i++, offset += queues->fragment) {
            for (uint32_t rank = 0; rank < team->size; rank++) {
                if (rank != team->rank && offset < parts[rank].bytes)
                    data = sb_first(data, deal(team, rank, sb_setring_buffer(&queues->ring, i),
                                               &parts[rank], offset));
            }
        }
        sb_setring_leave(&queues->ring);
    }
    return data;
}

static sb_status_t receive(sb_team_t *team, const sb_stream_t *part)
{
    sb_queues_t *queues = sb_queues(team);
    sb_status_t data = SB_OK, status = sb_queue_read_counts(team);
    uint64_t offset = 0;
    bool more;

    if (status != SB_OK)
        return status;
    size_t bytes = (size_t)queues->own[team->rank];
    for (uint64_t turns = sb_queue_turns(team); turns > 0; turns--) {
        status = sb_setring_enter(team, &queues->ring);
        if (status != SB_OK)
            return status;
        for (uint32_t i = 0; i < queues->ring.per_set && offset < bytes; i++) {
            uint32_t index = sb_setring_buffer(&queues->ring, i);
            status =
                sb_queue_take(team, sb_queue_ctrl(team, team->rank, index),
                              sb_queue_slot(team, team->rank, index), part, &offset, &more, &data);
            if (status != SB_OK)
                return status;
        }
        sb_setring_leave(&queues->ring);
    }
    return data == SB_OK && bytes > part->bytes ? SB_ERR_TRUNCATE : data;
}

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    sb_status_t data = SB_OK;

    if (team->rank != parts->root)
        return receive(team, parts->receive);
    if (!parts->in_place)
        data = sb_copy_own(&parts->send[team->rank], parts->receive);
    return team->size == 1 ? data : sb_first(send(team, parts->send), data);
}

/* As the direct one, and a line for each rank to be told and to count itself off. */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double others = shape->ranks - 1;

    return price->line * (2 + 2 * others) + price->byte * (double)bytes * (others + 1) +
           sb_cost_turns(shape, 2);
}

#define QUEUED(of)                                                                                 \
    {                                                                                              \
        .name = "queued", .collective = of,                                                        \
        .doc =                                                                                     \
            "The root deals fragments into the queues of the others, in sets of slots that all "   \
            "leave. The published algorithm.",                                                     \
        .source = "Romanyuta, Kurnosov 2022, shared queues", .on_request = true,                   \
        .prepare = sb_queues_prepare, .cost = cost, .parts = run,                                  \
    }

const sb_algorithm_t sb_scatter_queued = QUEUED(SB_SCATTER);
const sb_algorithm_t sb_scatterv_queued = QUEUED(SB_SCATTERV);
