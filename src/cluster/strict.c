/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce, Allreduce and Reduce_scatter over nodes exactly from left to right, for
 * SOBOR_REPRODUCIBLE=strict, where the ranks of each node are one interval: the first rank of a
 * node puts what is combined so far before its own bytes, the node combines from left to right, and
 * the result goes to the next node, segment by segment; at the end from the last node to the root,
 * a window at a time. Allreduce broadcasts it. Cost: (N - 2 + S) (a + g b + t) for S segments of g
 * bytes, t the node's reduction of one, and the way to the root. Memory: the window.
 */
#include "cluster/reduce.h"

typedef struct course {
    sb_cluster_t *cluster;
    const sb_reduction_t *reduction;
    bool scatters; /* else all is for the root */
} course_t;

static bool next_piece(const course_t *course, sb_piece_t *piece)
{
    const sb_reduction_t *reduction = course->reduction;

    if (course->scatters)
        return sb_piece_next(course->cluster, reduction, piece);
    size_t element = reduction->operation->element;
    piece->number++;
    piece->from += piece->bytes;
    piece->bytes = sb_min(SB_SEGMENT_BYTES / element * element, reduction->bytes - piece->from);
    piece->rank = reduction->root;
    return piece->bytes > 0;
}

static sb_piece_t first_piece(const course_t *course)
{
    sb_piece_t piece = course->scatters ? sb_piece_first(course->cluster, course->reduction)
                                        : (sb_piece_t){.number = SIZE_MAX};

    return piece;
}

/* What is combined, at the rank where the node combines it. */
static char *result_of(const course_t *course, const sb_piece_t *piece)
{
    return sb_cluster_segment(course->cluster, piece->number) + SB_SEGMENT_BYTES;
}

static bool is_last(const course_t *course)
{
    return course->cluster->node + 1 == course->cluster->map.nodes;
}

void sb_strict_begin(sb_cluster_t *cluster, const sb_piece_t *piece, sb_program_step_t *write_step,
                     uint32_t root, char *data)
{
    sb_program_t *program = sb_program_of(cluster, piece->number, root);

    program->write_step = write_step;
    program->bytes_at = data;
    program->bytes = piece->bytes;
    sb_program_begin(cluster, program);
}

const char *sb_strict_take_up(sb_cluster_t *cluster, const sb_reduction_t *reduction,
                              const sb_piece_t *piece, uint32_t root, char *before)
{
    const char *own = reduction->send + piece->from;
    char *both = sb_cluster_segment(cluster, piece->number);
    const void *from[] = {before, own};

    if (cluster->local != 0 || sb_program_wait(cluster, piece->number) != SB_OK ||
        cluster->node == 0)
        return own;
    sb_strict_begin(cluster, piece, sb_net_from_before, root, before);
    if (sb_program_wait(cluster, piece->number) == SB_OK)
        sb_data_ends(cluster, sb_combine(reduction->operation, both, from, 2, piece->bytes));
    return both;
}

static sb_status_t link(const course_t *course, const sb_piece_t *piece)
{
    sb_cluster_t *cluster = course->cluster;
    uint32_t first = sb_map_rank(&cluster->map, cluster->node, 0);
    uint32_t leader = is_last(course) ? sb_leader_of(cluster, cluster->node, piece->rank) : first;
    const char *given =
        sb_strict_take_up(cluster, course->reduction, piece, sb_map_rank(&cluster->map, 0, 0),
                          sb_cluster_segment(cluster, piece->number));

    if (cluster->failure != SB_OK)
        return cluster->failure;
    sb_status_t status = sb_node_reduce(cluster, leader, course->reduction->operation, given,
                                        result_of(course, piece), piece->bytes);
    if (status == SB_OK && first == cluster->rank && !is_last(course))
        sb_strict_begin(cluster, piece, sb_net_to_next, sb_map_rank(&cluster->map, 0, 0),
                        result_of(course, piece));
    return cluster->failure;
}

/* From the last node to the root: what neither of both needs any more is written over. */
static sb_status_t hand_over(const course_t *course, const sb_piece_t *piece)
{
    sb_cluster_t *cluster = course->cluster;
    uint32_t root_node = cluster->map.node_of[piece->rank];
    uint32_t leader = sb_leader_of(cluster, cluster->node, piece->rank);
    bool ends = is_last(course) || piece->rank == cluster->rank;

    if (leader != cluster->rank || !ends || root_node + 1 == cluster->map.nodes)
        return cluster->failure;
    if (sb_program_wait(cluster, piece->number) == SB_OK)
        sb_strict_begin(cluster, piece, sb_net_last_to_root, piece->rank, result_of(course, piece));
    return cluster->failure;
}

static sb_status_t receive(const course_t *course, const sb_piece_t *piece)
{
    sb_cluster_t *cluster = course->cluster;

    if (piece->rank != cluster->rank || sb_program_wait(cluster, piece->number) != SB_OK)
        return cluster->failure;
    sb_copy(course->reduction->receive + (piece->from - piece->begin), result_of(course, piece),
            piece->bytes);
    return SB_OK;
}

/* Up to a window of pieces, from this one on; then it is the first of those that follow. */
static sb_status_t run_window(const course_t *course, sb_piece_t *piece, bool *more)
{
    static sb_status_t (*const stages[])(const course_t *, const sb_piece_t *) = {link, hand_over,
                                                                                  receive};
    const sb_piece_t first = *piece;
    sb_status_t status = SB_OK;

    for (unsigned stage = 0; stage < SB_COUNT_OF(stages); stage++) {
        *piece = first;
        *more = true;
        for (unsigned i = 0; i < SB_WINDOW && *more && status == SB_OK; i++) {
            status = stages[stage](course, piece);
            *more = next_piece(course, piece);
        }
    }
    return status;
}

static sb_status_t run(const course_t *course)
{
    sb_status_t status = sb_call_begins(course->cluster);
    sb_piece_t piece = first_piece(course);

    if (status != SB_OK || course->reduction->bytes == 0)
        return status;
    for (bool more = next_piece(course, &piece); more && status == SB_OK;)
        status = run_window(course, &piece, &more);
    if (status == SB_OK)
        sb_programs_end(course->cluster);
    return sb_call_ends(course->cluster);
}

sb_status_t sb_strict_reduce(sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    return run(&(course_t){.cluster = cluster, .reduction = reduction});
}

sb_status_t sb_strict_reduce_scatter(sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    return run(&(course_t){.cluster = cluster, .reduction = reduction, .scatters = true});
}

/* Where the operator fails on one rank the others get what there is, as elsewhere. */
sb_status_t sb_strict_allreduce(sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    sb_reduction_t to_last = *reduction;
    sb_stream_t stream = {.base = reduction->receive, .bytes = reduction->bytes};

    to_last.root = sb_map_rank(&cluster->map, cluster->map.nodes - 1, 0);
    sb_status_t status = sb_strict_reduce(cluster, &to_last);
    if (cluster->failure != SB_OK)
        return status;
    /* Not by order of arrival: agreeing on that is a reduction too. */
    return sb_first(status, sb_cluster_bcast_fixed(cluster, to_last.root, &stream));
}
