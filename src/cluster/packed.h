/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_PACKED_H
#define SB_CLUSTER_PACKED_H

#include "cluster/cluster.h"

/* What the operations that pack the parts of all ranks have in common. */

/* Bytes of a segment, packed: the whole window of a program, at most. */
#define SB_PACKED_LEAST ((size_t)8192)
#define SB_PACKED_MOST (2 * SB_SEGMENT_BYTES)

/* More ranks have a few bytes each in a segment: that is not worth its messages, nor the room. */
#define SB_PACKED_RANKS SB_PACKED_LEAST

/* A call that moves parts begins, if the map suits, as all find alike. */
static inline sb_status_t sb_parts_begin(sb_cluster_t *cluster)
{
    if (cluster->map.ranks > SB_PACKED_RANKS)
        return SB_ERR_UNSUPPORTED;
    sb_status_t status = sb_cluster_need_parts(cluster);
    return status == SB_OK ? sb_call_begins(cluster) : status;
}

/* Fewer bytes of a part at once cost as much as so many. */
#define SB_PACKED_PIECE ((size_t)256)

/* Bytes of each part in a segment, of parts of at most `longest` bytes: enough at a time that
 * latency does not count, and few enough that stages overlap. */
static inline size_t sb_packed_piece(uint32_t ranks, size_t longest)
{
    size_t half = longest / 2 * ranks;
    size_t least = sb_max(SB_PACKED_LEAST, ranks * SB_PACKED_PIECE);
    size_t segment = sb_min(sb_max(half, least), SB_PACKED_MOST);

    return sb_min(segment / ranks, longest);
}

/* A node's block has so many bytes that a message more does not count. */
#define SB_PACKED_BLOCK ((size_t)2048)

/* Whether the nodes' blocks of an allgather go round in a ring: where many segments follow each
 * other the way of one does not count, either. */
static inline bool sb_packed_ring_suits(uint32_t nodes, uint32_t ranks, size_t longest)
{
    size_t piece = sb_packed_piece(ranks, longest);

    return nodes > 2 && piece > 0 && sb_divide_up(longest, piece) >= SB_WINDOW &&
           piece * ranks / nodes >= SB_PACKED_BLOCK;
}

#endif
