/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce and Allreduce over nodes, segment by segment: each node combines a segment at its leader,
 * the leaders combine theirs by a program, and for Allreduce each broadcasts the result on its
 * node. While the program of one segment is under way the node works on the segments before and
 * behind. In Reduce the leader is the root on its own node; a tree of nodes leads there. How
 * Allreduce goes between nodes, and with how many ranks of each, is chosen (see choice.c).
 * Cost: the slowest of the three stages, and the others once. Memory: the window.
 *
 * The order of ranks is kept where the ranks of each node are one interval; elsewhere an operator
 * that is not commutative is for the host. What is combined with what follows from the map and the
 * number of bytes alone, so every run gives the same bits; all ranks get them from one place, or
 * compute the same (see net/halving.c).
 */
#include "cluster/reduce.h"

#include "cluster/net/cube.h"

/* A reduction over nodes. */
typedef struct course {
    sb_cluster_t *cluster;
    const sb_reduction_t *reduction;
    uint32_t root;
    uint32_t leader; /* of this rank's node */
    bool to_all;
    sb_schedule_t way;
    size_t segment; /* bytes of one */
    size_t segments;
    sb_range_t kept; /* of the combination, by this rank, if it is not all: */
    char *keeper;    /* there; else NULL */
} course_t;

static bool is_leader(const course_t *course)
{
    return course->cluster->rank == course->leader;
}

/* Segments are of whole elements, and so are their parts, but for the last. */
static void take_way(course_t *course, sb_schedule_t way)
{
    size_t unit = course->reduction->operation->element * way.parts;

    course->way = way;
    course->segment = way.segment / unit * unit;
    course->segments = sb_divide_up(course->reduction->bytes, course->segment);
}

static size_t bytes_of(const course_t *course, size_t segment)
{
    return sb_min(course->segment, course->reduction->bytes - segment * course->segment);
}

/* Where the leader combines a segment: at the receiver's, or in the window's second half. */
static char *place_of(const course_t *course, size_t segment)
{
    if (course->reduction->receive != NULL)
        return course->reduction->receive + segment * course->segment;
    return sb_cluster_segment(course->cluster, segment) + SB_SEGMENT_BYTES;
}

void sb_program_reduces(sb_program_t *program, const sb_schedule_t *way,
                        const sb_operator_t *operation, char *at, size_t bytes)
{
    size_t element = operation->element, elements = bytes / element, room = SB_SEGMENT_BYTES;

    program->write_step = way->write_step;
    program->operation = operation;
    program->bytes_at = at;
    program->bytes = bytes;
    program->halvings = way->halvings;
    program->split_digits = sb_cube_fits(way->split_digits, elements, element, 0, true, room);
    program->digits = sb_cube_fits(way->digits, elements, element, way->halvings, false, room);
}

static sb_status_t begin_segment(const void *context, size_t segment)
{
    const course_t *course = context;
    sb_cluster_t *cluster = course->cluster;
    const sb_reduction_t *reduction = course->reduction;
    sb_status_t status = is_leader(course) ? sb_program_wait(cluster, segment) : SB_OK;

    if (status == SB_OK)
        status = sb_node_reduce(cluster, course->leader, reduction->operation,
                                reduction->send + segment * course->segment,
                                is_leader(course) ? place_of(course, segment) : NULL,
                                bytes_of(course, segment));
    if (status != SB_OK || !is_leader(course))
        return status;
    sb_program_t *program = sb_program_of(cluster, segment, course->root);
    program->in_order = true; /* the bits are the same at every root */
    sb_program_reduces(program, &course->way, reduction->operation, place_of(course, segment),
                       bytes_of(course, segment));
    sb_program_begin(cluster, program);
    return cluster->failure;
}

/* What has come of the combination, from `begin` on. */
typedef struct coming {
    const course_t *course;
    size_t begin;
} coming_t;

static sb_status_t keep(void *context, size_t offset, const void *from, size_t bytes)
{
    const coming_t *coming = context;
    const sb_range_t *kept = &coming->course->kept;
    size_t begin = coming->begin + offset;
    sb_range_t range = sb_overlap(*kept, (sb_range_t){begin, begin + bytes});

    if (sb_range_bytes(range) > 0)
        sb_copy(coming->course->keeper + (range.from - kept->from),
                (const char *)from + (range.from - begin), sb_range_bytes(range));
    return SB_OK;
}

static sb_status_t end_segment(const void *context, size_t segment)
{
    const course_t *course = context;
    sb_cluster_t *cluster = course->cluster;
    coming_t coming = {course, segment * course->segment};
    size_t bytes = bytes_of(course, segment);
    sb_stream_t stream = {.bytes = bytes, .write = keep, .context = &coming};
    sb_status_t status = is_leader(course) ? sb_program_wait(cluster, segment) : SB_OK;

    if (course->keeper == NULL || is_leader(course))
        stream.base = place_of(course, segment);
    if (status == SB_OK)
        status = sb_node_bcast(cluster, course->leader, &stream);
    if (status == SB_OK && course->keeper != NULL && is_leader(course))
        keep(&coming, 0, stream.base, bytes);
    return status;
}

static sb_status_t run(const course_t *course)
{
    return sb_segments_run(course->cluster, course->segments, begin_segment,
                           course->to_all ? end_segment : NULL, course);
}

sb_status_t sb_cluster_reduce(sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    course_t course = {.cluster = cluster,
                       .reduction = reduction,
                       .root = reduction->root,
                       .leader = sb_leader_of(cluster, cluster->node, reduction->root)};

    if (!sb_reduction_is_served(cluster, reduction))
        return SB_ERR_UNSUPPORTED;
    if (sb_is_strict(cluster, reduction))
        return sb_strict_reduce(cluster, reduction);
    sb_status_t status = sb_call_begins(cluster);
    if (status != SB_OK || reduction->bytes == 0)
        return status;
    take_way(&course,
             sb_schedule_of_reduce(cluster->map.nodes, &cluster->prices, reduction->bytes));
    return run(&course);
}

static sb_schedule_t way_of(sb_cluster_t *cluster, uint32_t lanes, size_t bytes, bool commutative)
{
    sb_kept_way_t *kept = &cluster->ways[(unsigned)__builtin_clzll(bytes) % SB_KEPT_WAYS];

    if (kept->bytes != bytes || kept->lanes != lanes || kept->commutative != commutative)
        *kept = (sb_kept_way_t){bytes, lanes, commutative,
                                sb_schedule_of_allreduce(cluster->map.nodes, lanes,
                                                         &cluster->prices, bytes, commutative)};
    return kept->way;
}

/* Where ranks take turns on a processor, the fewer of them messages need the better. */
sb_schedule_t sb_way_of_allreduce(sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    uint32_t lanes = cluster->crowded ? 0 : cluster->map.smallest;

    return way_of(cluster, lanes, reduction->bytes, reduction->operation->commutative);
}

sb_status_t sb_cluster_allreduce(sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    uint32_t first = sb_map_rank(&cluster->map, 0, 0);
    course_t course = {.cluster = cluster,
                       .reduction = reduction,
                       .root = first,
                       .leader = sb_leader_of(cluster, cluster->node, first),
                       .to_all = true};

    if (!sb_reduction_is_served(cluster, reduction))
        return SB_ERR_UNSUPPORTED;
    if (sb_is_strict(cluster, reduction))
        return sb_strict_allreduce(cluster, reduction);
    sb_status_t status = sb_call_begins(cluster);
    if (status != SB_OK || reduction->bytes == 0)
        return status;
    sb_schedule_t way = sb_way_of_allreduce(cluster, reduction);
    if (way.lanes > 1)
        status = sb_cluster_need_parts(cluster);
    if (way.lanes > 1 && status == SB_OK)
        return sb_reduce_by_lanes(cluster, reduction, way, false);
    if (status != SB_OK && status != SB_ERR_UNSUPPORTED)
        return status;
    if (way.lanes > 1)
        way = way_of(cluster, 1, reduction->bytes, reduction->operation->commutative);
    take_way(&course, way);
    return run(&course);
}

sb_status_t sb_reduce_and_keep(sb_cluster_t *cluster, const sb_reduction_t *reduction,
                               sb_range_t kept)
{
    uint32_t first = sb_map_rank(&cluster->map, 0, 0);
    sb_reduction_t all = *reduction;
    course_t course = {.cluster = cluster,
                       .reduction = &all,
                       .root = first,
                       .leader = sb_leader_of(cluster, cluster->node, first),
                       .to_all = true,
                       .kept = kept,
                       .keeper = reduction->receive};

    all.receive = NULL;
    /* In a ring a segment would be longer than the room. */
    take_way(&course, way_of(cluster, cluster->crowded ? 0 : 1, reduction->bytes, false));
    return run(&course);
}
