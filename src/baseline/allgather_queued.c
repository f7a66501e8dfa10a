/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The published Allgatherv: rank 0 waits for a set of slots to be free and tells so; every rank
 * writes fragments of its part into all slots of the set in its own queue, and announces each to
 * each of the others in a control word of its own; only then it reads the fragments of the others,
 * in rank order. All count themselves off each set. Cost: for each turn p atomic additions to one
 * line and p - 1 ranks told that it is free; for each fragment p - 1 lines written; p copies of
 * each byte, at the same time on all ranks. Memory: s (f + 128 (p + 1)) + w (384 + 136 p) bytes a
 * rank. Preconditions: the queues. Source: the shared queues of Romanyuta and Kurnosov, 2022.
 *
 * Everyone knows all counts; yet a reader goes by what a fragment says of those that follow, so
 * that ranks that disagree about a size still agree on the number of turns. No deadlock: a rank
 * writes all its fragments of a set before it reads those of the others, and a turn begins when all
 * have left the set.
 */
#include "baseline/queues.h"
#include "coll/vector/vector.h"

/* Writes the own fragment and announces it to all. Returns whether more follows. */
static bool put(sb_team_t *team, uint32_t index, const sb_stream_t *part, size_t offset,
                sb_status_t *data)
{
    const sb_queues_t *queues = sb_queues(team);
    size_t bytes = sb_min(queues->fragment, part->bytes - offset);
    bool more = offset + bytes < part->bytes;

    *data = sb_first(*data,
                     sb_stream_read(part, offset, sb_queue_slot(team, team->rank, index), bytes));
    for (uint32_t reader = 0; reader < team->size; reader++) {
        sb_flag_t *ctrl = sb_queue_ctrl_for(team, team->rank, index, reader);
        if (reader == team->rank)
            continue;
        sb_flag_set_note(ctrl, (uint32_t)bytes | (more ? SB_QUEUE_MORE : 0));
        sb_flag_publish(ctrl, queues->ring.uses + 1);
    }
    return more;
}

/* What is still to come of a part is in the top bit of how far it has come. */
#define ENDED ((uint64_t)1 << 63)

static sb_status_t get(sb_team_t *team, uint32_t rank, uint32_t index, const sb_stream_t *part,
                       sb_status_t *data)
{
    uint64_t *came = &sb_queues(team)->own[rank];
    bool more;
    sb_status_t status = sb_queue_take(team, sb_queue_ctrl_for(team, rank, index, team->rank),
                                       sb_queue_slot(team, rank, index), part, came, &more, data);

    if (status != SB_OK || more)
        return status;
    if (*came > part->bytes)
        *data = sb_first(*data, SB_ERR_TRUNCATE);
    *came |= ENDED;
    return SB_OK;
}

/* The own fragments, in all slots of the set or as many as are left. */
static void fill_set(sb_team_t *team, const sb_stream_t *own, sb_status_t *data)
{
    sb_queues_t *queues = sb_queues(team);
    uint64_t *came = &queues->own[team->rank];

    for (uint32_t i = 0; i < queues->ring.per_set && !(*came & ENDED); i++) {
        bool more = put(team, sb_setring_buffer(&queues->ring, i), own, (size_t)*came, data);
        *came += queues->fragment;
        if (!more)
            *came |= ENDED;
    }
}

/* Another rank's fragments in the set. */
static sb_status_t read_set(sb_team_t *team, uint32_t rank, const sb_stream_t *part,
                            sb_status_t *data)
{
    const sb_queues_t *queues = sb_queues(team);
    sb_status_t status = SB_OK;

    for (uint32_t i = 0; i < queues->ring.per_set && status == SB_OK; i++) {
        if (queues->own[rank] & ENDED)
            break;
        status = get(team, rank, sb_setring_buffer(&queues->ring, i), part, data);
    }
    return status;
}

/* A turn: the own fragments, and then those of the others, in rank order. */
static sb_status_t pass(sb_team_t *team, const sb_stream_t *own, const sb_stream_t *parts,
                        sb_status_t *data)
{
    sb_status_t status = SB_OK;

    fill_set(team, own, data);
    for (uint32_t rank = 0; rank < team->size && status == SB_OK; rank++) {
        if (rank != team->rank)
            status = read_set(team, rank, &parts[rank], data);
    }
    return status;
}

static bool all_ended(const sb_team_t *team)
{
    bool ended = true;

    for (uint32_t rank = 0; rank < team->size; rank++)
        ended = ended && (sb_queues(team)->own[rank] & ENDED) != 0;
    return ended;
}

/* Rank 0 does the accounting of sets for all. */
static sb_status_t enter_set(sb_team_t *team)
{
    return team->rank == 0 ? sb_setring_claim(team, &sb_queues(team)->ring)
                           : sb_setring_enter(team, &sb_queues(team)->ring);
}

static sb_status_t exchange(sb_team_t *team, const sb_stream_t *own, const sb_stream_t *parts)
{
    sb_queues_t *queues = sb_queues(team);
    sb_status_t data = SB_OK;

    for (uint32_t rank = 0; rank < team->size; rank++)
        queues->own[rank] = parts[rank].bytes == 0 ? ENDED : 0;
    queues->own[team->rank] = own->bytes == 0 ? ENDED : 0;
    do {
        sb_status_t status = enter_set(team);
        if (status == SB_OK)
            status = pass(team, own, parts, &data);
        if (status != SB_OK)
            return status;
        sb_setring_leave(&queues->ring);
    } while (!all_ended(team));
    return data;
}

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    const sb_stream_t *place = &parts->receive[team->rank];
    const sb_stream_t *own = parts->in_place ? place : parts->send;
    sb_status_t data = parts->in_place ? SB_OK : sb_copy_own(own, place);

    return team->size == 1 ? data : sb_first(exchange(team, own, parts->receive), data);
}

/* As the direct one, and a line for each rank to be told and to count itself off. */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double others = shape->ranks - 1;

    return price->line * (3 + 2 * others) + price->byte * (double)bytes * (others + 1) +
           others * price->own_line + sb_cost_turns(shape, 3);
}

#define QUEUED(of)                                                                                 \
    {                                                                                              \
        .name = "queued", .collective = of,                                                        \
        .doc = "Every rank fills a set of slots of its own queue, then reads those of the others " \
               "in rank order. The published algorithm.",                                          \
        .source = "Romanyuta, Kurnosov 2022, shared queues", .on_request = true,                   \
        .prepare = sb_queues_prepare, .cost = cost, .parts = run,                                  \
    }

const sb_algorithm_t sb_allgather_queued = QUEUED(SB_ALLGATHER);
const sb_algorithm_t sb_allgatherv_queued = QUEUED(SB_ALLGATHERV);
