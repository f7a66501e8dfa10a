/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast in order of arrival, in segments: as cp-tree, but a leader sends on what it has while
 * the rest still comes. Each serves the next that comes, so that is a chain; the root begins
 * another one where the message is so to be had in half the time. Segments are those of a chain.
 * Cost: (N - 2 + S) (a + g b) at most, for S segments of g bytes, and a message to the root and
 * one back. Memory: of data in pieces a copy. Source: own; the chain is the pipeline of van de
 * Geijn, see net/tree.c.
 */
#include "cluster/arrival/cast.h"

#define AHEAD 4

static sb_status_t run(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream)
{
    size_t segment = sb_segment_of_chain(cluster->map.nodes, &cluster->seen, stream->bytes);

    return sb_cast(cluster, root, stream, segment, AHEAD, sb_cast_soonest);
}

const sb_spanning_t sb_bcast_cp_chain = {
    .name = "cp-chain",
    .collective = SB_BCAST,
    .doc = "Leaders that came first, served in order of arrival, in segments.",
    .source = "Sobor",
    .bcast = run,
};
