/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast through the root's ring: the root copies fragment after fragment into its ring, every
 * rank copies them out as they come, and all look at the root's flag for news. Cost: two copies of
 * each byte, which overlap but for the first and the last fragment, and one line transfer for each
 * fragment; p - 1 readers queue up for that line. Or one copy of each byte, by the kernel, where
 * that was found to be faster (rings.h). Memory: one ring a rank. Preconditions: the
 * team's rings. Source: Kurnosov, Tokmasheva 2020, the flat tree of notifications; one monotone
 * position replaces the control word of each buffer, and credits replace the counter of readers.
 */
#include "coll/bcast/bcast.h"
#include "coll/bcast/rings.h"

static sb_status_t run(sb_team_t *team, uint32_t root, const sb_stream_t *stream)
{
    if (team->rank != root)
        return sb_bcast_receive(team, root, NULL, stream);
    return sb_rings_send(team, stream, sb_flow_piece_usual(stream->bytes), SB_SPREAD_FLAT);
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    return sb_cost_ring(shape) + price->reader * (shape->ranks - 2) +
           2 * price->byte * (double)bytes + sb_cost_turns(shape, sb_cost_ring_turns(shape, bytes));
}

const sb_algorithm_t sb_bcast_ring = {
    .name = "ring",
    .collective = SB_BCAST,
    .doc = "Pipelined through the root's ring buffer; all ranks look at the root's flag.",
    .source = "Kurnosov, Tokmasheva 2020, flat notification",
    .prepare = sb_rings_prepare,
    .cost = cost,
    .bcast = run,
};
