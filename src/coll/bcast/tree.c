/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast with a tree of notifications: the data is read from the root's ring (a short message:
 * from the slot of one's parent), but the news of it goes down a tree of arity k, so that no line
 * has more than k readers waiting for it. A rank passes the news on before it copies. Cost: as the
 * ring, with depth times a line transfer for the first fragment in place of a queue of p - 1
 * readers. Memory: one ring a rank. Preconditions: the team's rings, for messages longer than a
 * slot. Source: Kurnosov, Tokmasheva 2020.
 */
#include "coll/bcast/bcast.h"
#include "coll/bcast/rings.h"

static sb_status_t send_short(sb_team_t *team, const sb_stream_t *stream)
{
    unsigned char packed[SB_SLOT_PAYLOAD];
    sb_status_t status = sb_slot_wait_free(team, team->slot_uses);

    if (status != SB_OK)
        return status;
    sb_status_t data = sb_stream_read(stream, 0, packed, stream->bytes);
    if (sb_status_ends(data))
        return data;
    sb_slot_show(team, SB_NOTE_SHOWN | (uint32_t)stream->bytes, packed, stream->bytes);
    sb_slot_finish(team, 1);
    return data;
}

/*
 * This rank's slot is free: before it used the slot the root waited for all ranks to be done with
 * what any slot of this number held before.
 */
sb_status_t sb_shown_receive(sb_team_t *team, const sb_news_t *news)
{
    size_t bytes = news->note & SB_NOTE_BYTES;

    if (bytes > SB_SLOT_PAYLOAD)
        return sb_out_of_step(team);
    if (sb_news_tree(team, news, bytes).children > 0)
        sb_slot_show(team, news->note, news->payload, bytes);
    sb_status_t data = sb_take(news->stream, 0, news->payload, bytes);
    sb_slot_finish(team, 1);
    return sb_received_all(data, bytes, news->stream);
}

static sb_status_t run(sb_team_t *team, uint32_t root, const sb_stream_t *stream)
{
    bool is_short = stream->bytes <= SB_SLOT_PAYLOAD;

    if (team->rank != root)
        return sb_rings_follow(team, root, is_short, stream);
    if (is_short)
        return send_short(team, stream);
    return sb_rings_send(team, stream, sb_flow_piece_usual(stream->bytes), SB_SPREAD_TREE);
}

/* What lies beyond the flag's line is read, and copied once more by each rank in between. */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    uint32_t depth = sb_tree_depth(shape->ranks, shape->tree_arity);
    double time = sb_cost_news(shape) + 2 * price->byte * (double)bytes;

    if (bytes > SB_SLOT_PAYLOAD)
        time += sb_cost_ring(shape) + price->crowd * shape->ranks;
    else if (bytes > SB_SLOT_IN_LINE)
        time += price->line + price->tree_beyond + price->tree_copy * (depth - 1);
    else
        time += price->line;
    return time + sb_cost_turns(shape, depth * sb_cost_ring_turns(shape, bytes));
}

const sb_algorithm_t sb_bcast_tree = {
    .name = "tree",
    .collective = SB_BCAST,
    .doc =
        "Pipelined through the root's ring; the news goes down a tree, arity by SOBOR_TREE_ARITY.",
    .source = "Kurnosov, Tokmasheva 2020, k-ary notification tree",
    .prepare = sb_rings_prepare,
    .prepare_above = SB_SLOT_PAYLOAD,
    .cost = cost,
    .bcast = run,
};
