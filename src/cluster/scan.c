/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan and Exscan over nodes whose ranks are each one interval, segment by segment: a scan on the
 * node, after which its last rank, the leader here, has the node's total; an exscan of the totals
 * among leaders (net/exscan.c); a broadcast of what is before the node; and each rank combines it
 * with what it has. Meanwhile the node works on the segments before and behind. Cost: the slowest
 * of these stages, and the others once. Memory: the window. The order is that of ranks; brackets
 * follow from the map, the number of bytes and the nodes' own scans, for any operator.
 *
 * For SOBOR_REPRODUCIBLE=strict exactly from left to right: a node's first rank puts what is before
 * the node before its own bytes, the node scans, and its last rank tells the next node, one segment
 * after the other: (N - 2 + S) (a + g b + t) for S segments of g bytes, t a node's scan of one.
 */
#include "cluster/reduce.h"

typedef struct course {
    sb_cluster_t *cluster;
    const sb_reduction_t *reduction;
    sb_collective_t collective;
    uint32_t leader;
    sb_program_step_t *write_step;
    size_t segment; /* bytes of one */
} course_t;

static size_t bytes_of(const course_t *course, size_t segment)
{
    return sb_min(course->segment, course->reduction->bytes - segment * course->segment);
}

/* Where the leader has its node's total, */
static char *total_of(const course_t *course, size_t segment)
{
    return sb_cluster_segment(course->cluster, segment) + SB_SCAN_SEGMENT;
}

/* and each rank what is before its node. */
static char *before_of(const course_t *course, size_t segment)
{
    return sb_cluster_segment(course->cluster, segment) + 2 * SB_SCAN_SEGMENT;
}

/* What this rank receives of the segment; NULL: nothing. */
static char *result_of(const course_t *course, size_t segment)
{
    char *receive = course->reduction->receive;

    return receive == NULL ? NULL : receive + segment * course->segment;
}

/* Of an Exscan the first rank of a node has nothing from it. */
static bool has_result(const course_t *course)
{
    return course->collective == SB_SCAN || course->cluster->local > 0;
}

/* Combines into the right one. */
static void combine(const course_t *course, const char *left, char *right, size_t bytes)
{
    const void *from[] = {left, right};

    sb_data_ends(course->cluster, sb_combine(course->reduction->operation, right, from, 2, bytes));
}

/* The node's scan; at the leader its total, too: what it has itself goes there before it may be
 * overwritten, in place. */
static sb_status_t scan_node(const course_t *course, size_t segment, const char *send)
{
    sb_cluster_t *cluster = course->cluster;
    const sb_reduction_t *reduction = course->reduction;
    char *result = result_of(course, segment), *total = total_of(course, segment);
    size_t bytes = bytes_of(course, segment);
    bool leads = course->leader == cluster->rank, inclusive = course->collective == SB_SCAN;

    if (leads && !inclusive)
        sb_copy(total, send, bytes);
    sb_status_t status =
        sb_node_scan(cluster, course->collective, reduction->operation, send, result, bytes);
    if (status != SB_OK || !leads)
        return status;
    if (inclusive)
        sb_copy(total, result, bytes);
    else if (has_result(course))
        combine(course, result, total, bytes);
    return cluster->failure;
}

static sb_status_t begin_segment(const void *context, size_t segment)
{
    const course_t *course = context;
    sb_cluster_t *cluster = course->cluster;
    bool leads = course->leader == cluster->rank;
    sb_status_t status = leads ? sb_program_wait(cluster, segment) : SB_OK;

    if (status == SB_OK)
        status = scan_node(course, segment, course->reduction->send + segment * course->segment);
    if (status != SB_OK || !leads)
        return status;
    sb_program_t *program = sb_program_of(cluster, segment, course->leader);
    program->last_leads = true;
    program->write_step = course->write_step;
    program->operation = course->reduction->operation;
    program->bytes_at = total_of(course, segment);
    program->before = before_of(course, segment);
    program->bytes = bytes_of(course, segment);
    sb_program_begin(cluster, program);
    return cluster->failure;
}

static sb_status_t end_segment(const void *context, size_t segment)
{
    const course_t *course = context;
    sb_cluster_t *cluster = course->cluster;
    size_t bytes = bytes_of(course, segment);
    char *before = before_of(course, segment), *result = result_of(course, segment);
    bool leads = course->leader == cluster->rank;
    sb_stream_t stream = {.base = before, .bytes = bytes};

    if (cluster->node == 0)
        return cluster->failure;
    sb_status_t status = leads ? sb_program_wait(cluster, segment) : SB_OK;
    if (status == SB_OK)
        status = sb_node_bcast(cluster, course->leader, &stream);
    if (status != SB_OK)
        return status;
    if (has_result(course))
        combine(course, before, result, bytes);
    else
        sb_copy(result, before, bytes);
    return SB_OK;
}

/* --- strictly from left to right ------------------------------------------------------------ */

static sb_status_t link(const void *context, size_t segment)
{
    const course_t *course = context;
    sb_cluster_t *cluster = course->cluster;
    sb_piece_t piece = {segment, .from = segment * course->segment,
                        .bytes = bytes_of(course, segment)};
    uint32_t end = sb_map_last(&cluster->map, cluster->node - (cluster->node > 0));
    const char *given =
        sb_strict_take_up(cluster, course->reduction, &piece, end, before_of(course, segment));
    bool goes_on = course->leader == cluster->rank && cluster->node + 1 < cluster->map.nodes;
    sb_status_t status = goes_on ? sb_program_wait(cluster, segment) : cluster->failure;

    if (status == SB_OK)
        status = scan_node(course, segment, given);
    if (status == SB_OK && cluster->local == 0 && cluster->node > 0 && !has_result(course))
        sb_copy(result_of(course, segment), before_of(course, segment), bytes_of(course, segment));
    if (status == SB_OK && goes_on)
        sb_strict_begin(cluster, &piece, sb_net_to_next, cluster->rank, total_of(course, segment));
    return status;
}

/* --- the operations -------------------------------------------------------------------------- */

static sb_program_step_t *schedule(const sb_cluster_t *cluster, size_t segments)
{
    return sb_net_chain_suits(cluster->map.nodes, segments) ? sb_net_exscan_chain
                                                            : sb_net_exscan_doubling;
}

static sb_status_t run(sb_cluster_t *cluster, const sb_reduction_t *reduction,
                       sb_collective_t collective)
{
    size_t element = reduction->operation->element, bytes = reduction->bytes;
    course_t course = {.cluster = cluster,
                       .reduction = reduction,
                       .collective = collective,
                       .leader = sb_map_last(&cluster->map, cluster->node),
                       .segment = SB_SCAN_SEGMENT / element * element};
    size_t segments = sb_divide_up(bytes, course.segment);

    if (!cluster->map.contiguous)
        return SB_ERR_UNSUPPORTED;
    sb_status_t status = sb_call_begins(cluster);

    if (status != SB_OK || bytes == 0)
        return status;
    if (sb_is_strict(cluster, reduction))
        return sb_segments_run(cluster, segments, link, NULL, &course);
    course.write_step = schedule(cluster, segments);
    return sb_segments_run(cluster, segments, begin_segment, end_segment, &course);
}

sb_status_t sb_cluster_scan(sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    return run(cluster, reduction, SB_SCAN);
}

sb_status_t sb_cluster_exscan(sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    return run(cluster, reduction, SB_EXSCAN);
}
