/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast of MVAPICH in shared memory, for comparison: each rank has a window of 128 slots of 8
 * KiB, and each slot a sequence number. The root copies a fragment into its next slot and writes
 * the number of the write there; all others look at that slot, and copy out. When as many slots
 * have been written as a window has, by whatever roots, all meet in a barrier. Cost: a line read by
 * p - 1 ranks and two copies for each fragment; a barrier for each 128. Memory: 1 MiB and 16 KiB a
 * rank. Preconditions: that memory. Source: MVAPICH2 2.3, the broadcast in shared memory with its
 * standard window.
 *
 * What differs, and why it is the same algorithm: numbers only grow and are not compared for being
 * equal. A slot has one writer, its owner, and is written again only after the barrier in which all
 * have read it. The first fragment of a message is known from the message's announcement.
 */
#include "baseline/announced.h"
#include "coll/barrier/barrier.h"
#include "coll/resources.h"

#define FRAGMENT ((size_t)8 << 10)
#define WINDOW 128

/* A slot's note: bytes in it, and whether the message ends with them. */
#define LAST 0x80000000u
#define BYTES 0x7fffffffu

typedef struct slot {
    sb_wide_flag_t written; /* number of the write; its owner alone writes it */
    char bytes[FRAGMENT];
} slot_t;

/* Private to the rank, equal on all. */
typedef struct window {
    sb_resource_t resource;
    uint64_t writes; /* of all roots together */
} window_t;

static window_t *window_of(const sb_team_t *team)
{
    return (window_t *)(void *)team->resource[SB_RESOURCE_MVAPICH];
}

static slot_t *slot_of(const sb_team_t *team, uint32_t rank)
{
    const window_t *window = window_of(team);
    slot_t *slots = (slot_t *)(void *)window->resource.bases[rank];

    return &slots[window->writes % WINDOW];
}

static sb_status_t make(sb_team_t *team)
{
    const sb_resource_size_t size = {.own = sizeof(window_t),
                                     .bytes = WINDOW * sizeof(slot_t),
                                     .least = WINDOW * sizeof(slot_t),
                                     .willing = true};

    return sb_resource_make(team, SB_RESOURCE_MVAPICH, &size);
}

static const sb_resource_kind_t kind = {SB_RESOURCE_MVAPICH, make};

static sb_status_t prepare(sb_team_t *team)
{
    return sb_resource_need(team, &kind);
}

/* The next write; before the first of a window all have read the one before. */
static sb_status_t next(sb_team_t *team)
{
    if (++window_of(team)->writes % WINDOW != 0)
        return SB_OK;
    uint64_t number = ++team->barriers;
    sb_status_t status = sb_barrier_gather_flat(team, number);
    return status == SB_OK ? sb_barrier_meet_at_root(team, number) : status;
}

/* Root: the slot is written. All wait for the announcement, then for the slots' numbers. */
static sb_status_t show(sb_team_t *team, slot_t *slot, bool first, uint32_t note)
{
    if (first)
        return sb_announce(team, SB_ANNOUNCED_MVAPICH, &note, sizeof note);
    sb_flag_set_note(&slot->written.flag, note);
    sb_flag_publish(&slot->written.flag, window_of(team)->writes + 1);
    return SB_OK;
}

static sb_status_t send(sb_team_t *team, const sb_stream_t *stream)
{
    sb_status_t data = SB_OK, status = SB_OK;
    bool last = false;

    for (size_t offset = 0; !last && status == SB_OK; status = next(team)) {
        slot_t *slot = slot_of(team, team->rank);
        size_t bytes = sb_min(FRAGMENT, stream->bytes - offset);
        bool first = offset == 0;
        data = sb_first(data, sb_stream_read(stream, offset, slot->bytes, bytes));
        offset += bytes;
        last = offset == stream->bytes;
        status = show(team, slot, first, (uint32_t)bytes | (last ? LAST : 0));
        if (status != SB_OK)
            return status;
    }
    sb_slot_finish(team, 1);
    return sb_first(status, data);
}

/* Receiver: waits for a slot that is not a message's first. */
static sb_status_t wait_written(const sb_team_t *team, slot_t *slot, uint32_t *note)
{
    sb_flag_t *written = &slot->written.flag;
    sb_status_t status = sb_flag_wait(written, window_of(team)->writes + 1, &team->waiter);

    if (status == SB_OK)
        *note = sb_flag_note(written);
    return status;
}

static sb_status_t receive(sb_team_t *team, const sb_news_t *news)
{
    const sb_stream_t *stream = news->stream;
    sb_status_t data = SB_OK, status = SB_OK;
    size_t offset = 0;
    uint32_t note;

    sb_copy(&note, news->payload, sizeof note);
    for (bool last = false; !last && status == SB_OK; status = next(team)) {
        slot_t *slot = slot_of(team, news->root);
        if (offset > 0)
            status = wait_written(team, slot, &note);
        if (status != SB_OK)
            return status;
        size_t bytes = sb_min(note & BYTES, FRAGMENT); /* a peer's word goes no farther */
        data = sb_first(data, sb_take(stream, offset, slot->bytes, bytes));
        offset += bytes;
        last = (note & LAST) != 0;
    }
    sb_slot_finish(team, 1);
    return sb_first(status, sb_received_all(data, offset, stream));
}

static sb_status_t run(sb_team_t *team, uint32_t root, const sb_stream_t *stream)
{
    if (team->size == 1)
        return SB_OK;
    return team->rank == root ? send(team, stream) : sb_bcast_receive(team, root, NULL, stream);
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double fragments = 1 + (double)bytes / FRAGMENT;

    return fragments * (price->line + price->reader * (shape->ranks - 1)) +
           2 * price->byte * (double)bytes + sb_cost_turns(shape, 1 + fragments / WINDOW);
}

const sb_algorithm_t sb_bcast_mvapich = {
    .name = "mvapich",
    .collective = SB_BCAST,
    .doc = "A window of 128 slots of 8 KiB with a sequence number each, which all look at. For "
           "comparison.",
    .source = "MVAPICH2 2.3, broadcast in shared memory",
    .on_request = true,
    .prepare = prepare,
    .cost = cost,
    .bcast = run,
};

const sb_bcast_memory_t sb_announced_mvapich = {prepare, SB_RESOURCE_MVAPICH, receive};
