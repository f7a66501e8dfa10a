/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter over nodes: the parts one after another, cut into segments, each as in a reduction
 * whose root is the rank that gets it: the node's contributions are combined at a leader, the
 * leaders' by a tree of nodes. Roots change from part to part, so the trees of several segments use
 * different links at the same time. Where parts are short their number would decide: all are
 * combined as for Allreduce, and each rank keeps its own; by the lanes of each node, which deal it
 * out there, where that is expected to take less (allreduce_lanes.c). Cost: each byte once over N -
 * 1 links, and a reduction on the node for each segment; or that of an Allreduce. Memory: the
 * window, by lanes also the teams' for moving parts.
 * The order of ranks is kept as in reduce.c. In place too, since a part never begins behind what
 * was combined already.
 */
#include "cluster/reduce.h"

typedef struct scattered {
    sb_cluster_t *cluster;
    const sb_reduction_t *reduction;
    sb_program_step_t *write_step;
} scattered_t;

sb_piece_t sb_piece_first(const sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    return (sb_piece_t){.number = SIZE_MAX, .end = sb_part_bytes(reduction, cluster->map.ranks, 0)};
}

bool sb_piece_next(const sb_cluster_t *cluster, const sb_reduction_t *reduction, sb_piece_t *piece)
{
    size_t element = reduction->operation->element;

    piece->number++;
    piece->from += piece->bytes;
    while (piece->from == piece->end) {
        if (++piece->rank == cluster->map.ranks)
            return false;
        piece->begin = piece->end;
        piece->end += sb_part_bytes(reduction, cluster->map.ranks, piece->rank);
    }
    piece->bytes = sb_min(SB_SEGMENT_BYTES / element * element, piece->end - piece->from);
    return true;
}

static bool advance(const scattered_t *scattered, sb_piece_t *piece)
{
    return sb_piece_next(scattered->cluster, scattered->reduction, piece);
}

static char *place_of(const scattered_t *scattered, const sb_piece_t *piece)
{
    return sb_cluster_segment(scattered->cluster, piece->number) + SB_SEGMENT_BYTES;
}

static sb_status_t begin(const scattered_t *scattered, const sb_piece_t *piece)
{
    sb_cluster_t *cluster = scattered->cluster;
    const sb_reduction_t *reduction = scattered->reduction;
    uint32_t leader = sb_leader_of(cluster, cluster->node, piece->rank);
    bool leads = leader == cluster->rank;
    char *place = place_of(scattered, piece);
    sb_status_t status = leads ? sb_program_wait(cluster, piece->number) : SB_OK;

    if (status == SB_OK)
        status = sb_node_reduce_in_turn(cluster, leader, reduction->operation,
                                        reduction->send + piece->from, leads ? place : NULL,
                                        piece->bytes);
    if (status != SB_OK || !leads)
        return status;
    sb_program_t *program = sb_program_of(cluster, piece->number, piece->rank);
    program->write_step = scattered->write_step;
    program->operation = reduction->operation;
    program->in_order = !reduction->operation->commutative;
    program->bytes_at = place;
    program->bytes = piece->bytes;
    sb_program_begin(cluster, program);
    return cluster->failure;
}

static sb_status_t end(const scattered_t *scattered, const sb_piece_t *piece)
{
    sb_cluster_t *cluster = scattered->cluster;

    if (piece->rank != cluster->rank)
        return cluster->failure;
    sb_status_t status = sb_program_wait(cluster, piece->number);
    if (status == SB_OK)
        sb_copy(scattered->reduction->receive + (piece->from - piece->begin),
                place_of(scattered, piece), piece->bytes);
    return status;
}

static sb_status_t run(const scattered_t *scattered)
{
    sb_piece_t first = sb_piece_first(scattered->cluster, scattered->reduction), last = first;
    bool begins = advance(scattered, &first), ends = advance(scattered, &last);
    sb_status_t status = SB_OK;

    for (size_t turn = 0; (begins || ends) && status == SB_OK; turn++) {
        if (begins) {
            status = begin(scattered, &first);
            begins = advance(scattered, &first);
        }
        if (status == SB_OK && ends && turn >= SB_BEHIND) {
            status = end(scattered, &last);
            ends = advance(scattered, &last);
        }
    }
    if (status == SB_OK)
        sb_programs_end(scattered->cluster);
    return sb_call_ends(scattered->cluster);
}

sb_status_t sb_cluster_reduce_scatter(sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    scattered_t scattered = {.cluster = cluster, .reduction = reduction};

    if (!sb_reduction_is_served(cluster, reduction))
        return SB_ERR_UNSUPPORTED;
    if (sb_is_strict(cluster, reduction))
        return sb_strict_reduce_scatter(cluster, reduction);
    sb_status_t status = sb_call_begins(cluster);
    if (status != SB_OK || reduction->bytes == 0)
        return status;
    sb_schedule_t way = sb_way_of_allreduce(cluster, reduction);
    if (sb_lanes_suit_parts(&way, cluster->map.nodes, &cluster->prices, cluster->map.ranks,
                            reduction->bytes)) {
        status = sb_cluster_need_parts(cluster);
        if (status != SB_ERR_UNSUPPORTED)
            return status == SB_OK ? sb_reduce_by_lanes(cluster, reduction, way, true) : status;
    }
    if (reduction->bytes / cluster->map.ranks <= SB_SHORT_SCATTERED)
        return sb_reduce_and_keep(
            cluster, reduction,
            sb_parts_of(reduction, cluster->map.ranks, cluster->rank, cluster->rank + 1));
    size_t segments = sb_divide_up(reduction->bytes, SB_SEGMENT_BYTES);
    scattered.write_step = sb_net_chain_suits(cluster->map.nodes, segments)
                               ? sb_net_reduce_chain
                               : sb_net_reduce_binomial;
    return run(&scattered);
}
