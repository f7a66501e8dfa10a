/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce over nodes by many ranks of each node, its lanes: the combination of a segment is dealt
 * out among the node's first ranks (a reduce_scatter), each of which combines its part with those
 * of the ranks of the same number on other nodes, by the same programs as leaders; then the node
 * gathers the parts everywhere. While the programs of one segment are under way the node works on
 * the segments before and behind. No byte goes to one rank and back, and no processor has all
 * messages of its node. Cost: the slowest of the three stages, and the others once. Memory: the
 * window, and the teams' for moving parts. Order and bits: as in reduce.c; all ranks get each part
 * from the lane of their node, and lanes of all nodes have the same.
 */
#include "cluster/reduce.h"

typedef struct lanes {
    sb_cluster_t *cluster;
    const sb_reduction_t *reduction;
    sb_schedule_t way;
    size_t segment; /* bytes of one */
    size_t segments;
    bool non_temporal; /* the result goes past the caches */
    size_t landed;     /* bytes of it since programs were turned */
} lanes_t;

/* Whole lines are dealt out if there are so many for each. */
#define LINES_FOR_EACH 2

/* Bytes of a result that are copied between two looks at the network. */
#define TURN_BYTES ((size_t)16 << 10)

static bool is_lane(const lanes_t *lanes)
{
    return lanes->cluster->local < lanes->way.lanes;
}

static size_t bytes_of(const lanes_t *lanes, size_t segment)
{
    return sb_min(lanes->segment, lanes->reduction->bytes - segment * lanes->segment);
}

/* Where the part of a rank of the node begins in a segment; those behind the lanes have none. Parts
 * are of whole lines if there are many, so that they lie side by side wherever they are copied. */
static size_t part_begins(const lanes_t *lanes, size_t segment, uint32_t local)
{
    size_t element = lanes->reduction->operation->element, bytes = bytes_of(lanes, segment);
    bool lined = SB_LINE % element == 0 && bytes >= LINES_FOR_EACH * SB_LINE * lanes->way.lanes;
    size_t grain = lined ? SB_LINE : element;
    /* Rounded up: the last part has the rest besides, and is to fit too. */
    size_t grains = (bytes / grain * local + lanes->way.lanes - 1) / lanes->way.lanes;

    return local < lanes->way.lanes ? grains * grain : bytes;
}

static size_t part_bytes(const lanes_t *lanes, size_t segment, uint32_t local)
{
    return part_begins(lanes, segment, local + 1) - part_begins(lanes, segment, local);
}

static char *place_of(const lanes_t *lanes, size_t segment)
{
    return sb_window_of(lanes->cluster, segment) + SB_SEGMENT_BYTES;
}

static void begin_program(const lanes_t *lanes, size_t segment)
{
    sb_cluster_t *cluster = lanes->cluster;
    size_t bytes = part_bytes(lanes, segment, cluster->local);

    if (!is_lane(lanes) || bytes == 0)
        return;
    sb_program_t *program = sb_program_of(cluster, segment, cluster->rank);
    program->laned = true;
    sb_program_reduces(program, &lanes->way, lanes->reduction->operation, place_of(lanes, segment),
                       bytes);
    sb_program_begin(cluster, program);
}

static sb_status_t begin_segment(const lanes_t *lanes, size_t segment)
{
    sb_cluster_t *cluster = lanes->cluster;
    sb_status_t status = sb_program_wait(cluster, segment);

    for (uint32_t i = 0; i < cluster->team->size; i++)
        cluster->parts[i] = part_bytes(lanes, segment, i);
    if (status == SB_OK)
        status = sb_node_reduce_scatter(cluster, lanes->reduction->operation,
                                        lanes->reduction->send + segment * lanes->segment,
                                        place_of(lanes, segment), bytes_of(lanes, segment));
    if (status == SB_OK)
        begin_program(lanes, segment);
    return cluster->failure;
}

/* Bytes of the result come to where they belong. Messages go on meanwhile. */
static sb_status_t land(void *context, size_t offset, const void *from, size_t bytes)
{
    const sb_stream_t *part = context;
    lanes_t *lanes = part->context;

    lanes->landed += bytes;
    if (lanes->landed >= TURN_BYTES) {
        lanes->landed = 0;
        sb_programs_turn(lanes->cluster);
    }
    return lanes->non_temporal ? sb_stream_write_non_temporal(part, offset, from, bytes)
                               : sb_stream_write(part, offset, from, bytes);
}

static sb_status_t end_segment(lanes_t *lanes, size_t segment)
{
    sb_cluster_t *cluster = lanes->cluster;
    uint32_t size = cluster->team->size;
    sb_stream_t *part = cluster->streams + size;
    char *whole = lanes->reduction->receive + segment * lanes->segment;
    sb_stream_t own = {.base = place_of(lanes, segment),
                       .bytes = part_bytes(lanes, segment, cluster->local)};
    sb_status_t status = sb_program_wait(cluster, segment);

    for (uint32_t i = 0; i < size; i++) {
        part[i] = (sb_stream_t){.base = whole + part_begins(lanes, segment, i),
                                .bytes = part_bytes(lanes, segment, i),
                                .context = lanes};
        cluster->streams[i] =
            (sb_stream_t){.bytes = part[i].bytes, .write = land, .context = &part[i]};
    }
    return status == SB_OK ? sb_node_allgather(cluster, &own, cluster->streams) : status;
}

sb_status_t sb_reduce_by_lanes(sb_cluster_t *cluster, const sb_reduction_t *reduction,
                               sb_schedule_t way)
{
    lanes_t lanes = {.cluster = cluster,
                     .reduction = reduction,
                     .way = way,
                     .non_temporal = sb_node_past_caches(cluster, reduction->bytes)};
    size_t element = reduction->operation->element, unit = element * way.parts;
    /* Each lane's part has room. */
    size_t most = SB_SEGMENT_BYTES / element * element * way.lanes;
    sb_status_t status = SB_OK;

    lanes.segment = sb_min(way.segment, most) / unit * unit;
    lanes.segments = (reduction->bytes + lanes.segment - 1) / lanes.segment;
    for (size_t turn = 0; turn < lanes.segments + SB_BEHIND && status == SB_OK; turn++) {
        if (turn < lanes.segments)
            status = begin_segment(&lanes, turn);
        if (status == SB_OK && turn >= SB_BEHIND)
            status = end_segment(&lanes, turn - SB_BEHIND);
    }
    if (status == SB_OK)
        sb_programs_end(cluster);
    return sb_call_ends(cluster);
}
