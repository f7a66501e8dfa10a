/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast with a tree of notifications: the data is read from the root's ring (a short message:
 * from the slot of one's parent), but the news of it goes down a tree of arity k, so that no line
 * has more than k readers waiting for it. A rank passes the news on before it copies. Cost: as the
 * ring, with depth times a line transfer for the first fragment in place of a queue of p - 1
 * readers. Memory: one ring a rank. Preconditions: the team's rings, for messages longer than a
 * slot. Source: Kurnosov, Tokmasheva 2020.
 */
#include "team/tree.h"
#include "coll/bcast/bcast.h"
#include "coll/bcast/message.h"

/* Fills this rank's slot for the ranks below. */
static void show(sb_team_t *team, uint32_t note, const void *payload, size_t bytes)
{
    sb_slot_t *slot = sb_slot(team, team->rank, team->slot_uses);

    sb_flag_set_note(&slot->flag, note);
    sb_copy(slot->payload, payload, bytes);
    sb_flag_publish(&slot->flag, team->slot_uses + 1);
}

static sb_status_t send_short(sb_team_t *team, const sb_stream_t *stream)
{
    unsigned char packed[SB_SLOT_PAYLOAD];
    sb_status_t status = sb_slot_wait_free(team, team->slot_uses);

    if (status != SB_OK)
        return status;
    sb_status_t data = sb_stream_read(stream, 0, packed, stream->bytes);
    show(team, (uint32_t)stream->bytes, packed, stream->bytes);
    sb_slot_finish(team, 1);
    return data;
}

/*
 * This rank's slot is free: before it used the slot the root waited for all ranks to be done with
 * what any slot of this number held before.
 */
static sb_status_t receive_short(sb_team_t *team, const sb_tree_t *tree, const sb_stream_t *stream)
{
    sb_slot_t *slot = sb_slot(team, tree->parent, team->slot_uses);
    sb_status_t status = sb_flag_wait(&slot->flag, team->slot_uses + 1, &team->waiter);

    if (status != SB_OK)
        return status;
    uint32_t note = sb_flag_note(&slot->flag);
    if (note > SB_SLOT_PAYLOAD)
        return sb_out_of_step(team);
    if (tree->children > 0)
        show(team, note, slot->payload, note);
    status = sb_stream_write(stream, 0, slot->payload, sb_min(note, stream->bytes));
    sb_slot_finish(team, 1);
    return status == SB_OK && note != stream->bytes ? SB_ERR_TRUNCATE : status;
}

static sb_status_t run(sb_team_t *team, uint32_t root, const sb_stream_t *stream)
{
    sb_tree_t tree =
        sb_tree(team->rank, root, team->size, sb_team_arity(team, SB_BCAST, stream->bytes));
    bool is_short = stream->bytes <= SB_SLOT_PAYLOAD;

    if (is_short)
        return team->rank == root ? send_short(team, stream) : receive_short(team, &tree, stream);
    if (team->rank == root)
        return sb_ring_send(team, stream, sb_fragment_usual(stream->bytes));
    const sb_receipt_t receipt = {root,   tree.parent,       tree.children > 0,
                                  stream, sb_take_from_root, NULL};
    return sb_ring_receive(team, &receipt);
}

/* What lies beyond the flag's line is read, and copied once more by each rank in between. */
#define COST_BEYOND 60.0
#define COST_SLOT_COPY 40.0

static double cost(const sb_shape_t *shape, size_t bytes)
{
    uint32_t depth = sb_tree_depth(shape->ranks, shape->tree_arity);
    double time = sb_cost_news(shape) + 2 * SB_COST_BYTE * (double)bytes;

    if (bytes > SB_SLOT_PAYLOAD)
        time += SB_COST_RING + SB_COST_CROWD * shape->ranks;
    else if (bytes > SB_SLOT_IN_LINE)
        time += SB_COST_LINE + COST_BEYOND + COST_SLOT_COPY * (depth - 1);
    else
        time += SB_COST_LINE;
    return time + sb_cost_turns(shape, depth * sb_cost_ring_turns(shape, bytes));
}

const sb_algorithm_t sb_bcast_tree = {
    .name = "tree",
    .collective = SB_BCAST,
    .doc =
        "Pipelined through the root's ring; the news goes down a tree, arity by SOBOR_TREE_ARITY.",
    .source = "Kurnosov, Tokmasheva 2020, k-ary notification tree",
    .ring_above = SB_SLOT_PAYLOAD,
    .cost = cost,
    .bcast = run,
};
