/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_REDUCE_H
#define SB_CLUSTER_REDUCE_H

#include "base/config.h"
#include "cluster/cluster.h"
#include "coll/reduction/reduction.h"

/* Parts of a Reduce_scatter are short up to so many bytes, in the mean. */
#define SB_SHORT_SCATTERED 1024

/* And up to so many they may be combined by several ranks of each node as for Allreduce. */
#define SB_LANED_SCATTERED ((size_t)32 << 10)

/* Bytes of a segment of a scan: the window holds four of them for each program. */
#define SB_SCAN_SEGMENT (SB_SEGMENT_BYTES / 2)

/* Elements are to be combined exactly from left to right. */
static inline bool sb_is_strict(const sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    return cluster->settings.reproducible == SB_REPRODUCIBLE_STRICT && !reduction->operation->exact;
}

/* Whether the order of ranks can be kept, where the operator, or the user, needs that. */
static inline bool sb_reduction_is_served(const sb_cluster_t *cluster,
                                          const sb_reduction_t *reduction)
{
    return cluster->map.contiguous ||
           (reduction->operation->commutative && !sb_is_strict(cluster, reduction));
}

/* A segment, of a Reduce_scatter of the part of `rank`. */
typedef struct sb_piece {
    size_t number;
    uint32_t rank;
    size_t begin; /* of the part, in the contribution */
    size_t end;
    size_t from; /* of the segment */
    size_t bytes;
} sb_piece_t;

/* The place before the first, */
sb_piece_t sb_piece_first(const sb_cluster_t *cluster, const sb_reduction_t *reduction);
/* and the next segment, if there is one: it begins where this one ends. */
bool sb_piece_next(const sb_cluster_t *cluster, const sb_reduction_t *reduction, sb_piece_t *piece);

/* From left to right: see strict.c. */
sb_status_t sb_strict_reduce(sb_cluster_t *cluster, const sb_reduction_t *reduction);
sb_status_t sb_strict_allreduce(sb_cluster_t *cluster, const sb_reduction_t *reduction);
sb_status_t sb_strict_reduce_scatter(sb_cluster_t *cluster, const sb_reduction_t *reduction);

/* Begins a message of the segment; `root`: see sb_leader_of. */
void sb_strict_begin(sb_cluster_t *cluster, const sb_piece_t *piece, sb_program_step_t *write_step,
                     uint32_t root, char *data);

/* What the first rank of a node gives of the segment, in the window of its program, behind what
 * comes `before` from the node before. Other ranks, and the first node: what they give alone. */
const char *sb_strict_take_up(sb_cluster_t *cluster, const sb_reduction_t *reduction,
                              const sb_piece_t *piece, uint32_t root, char *before);

/* What a program is about that combines so many bytes, of the same elements on all nodes, at that
 * place. */
void sb_program_reduces(sb_program_t *program, const sb_schedule_t *way,
                        const sb_operator_t *operation, char *at, size_t bytes);

/* An allreduce by several ranks of each node; `scatters`: of which each rank keeps its part alone.
 * The call has begun, and the teams have what moving parts needs. */
sb_status_t sb_reduce_by_lanes(sb_cluster_t *cluster, const sb_reduction_t *reduction,
                               sb_schedule_t way, bool scatters);
/* How an allreduce would go, by several ranks of each node where that suits. */
sb_schedule_t sb_way_of_allreduce(sb_cluster_t *cluster, const sb_reduction_t *reduction);

/* An allreduce, of which each rank keeps some bytes, in `receive`. The call has begun. */
sb_status_t sb_reduce_and_keep(sb_cluster_t *cluster, const sb_reduction_t *reduction,
                               sb_range_t kept);

#endif
