/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce over nodes by many ranks of each node, its lanes: the combination of a segment is dealt
 * out among the node's first ranks (a reduce_scatter), each of which combines its part with those
 * of the ranks of the same number on other nodes, by the same programs as leaders; then the node
 * gathers the parts everywhere; of a Reduce_scatter the lanes give each rank what it gets. While
 * the programs of one segment are under way the node works on the segments before and behind. No
 * byte goes to one rank and back, and no processor has all messages of its node. Cost: the slowest
 * of the three stages, and the others once. Memory: the window, and the teams' for moving parts.
 * Order and bits: as in reduce.c; all ranks get each part from the lane of their node, and lanes of
 * all nodes have the same.
 */
#include "cluster/allreduce_lanes.h"

/* How far the stages of a segment are behind each other, with partners: the node has two more to
 * deal out while its messages are under way, and two whose results come. */
#define COMBINED_BEHIND 2
#define GATHERED_BEHIND 4

_Static_assert(GATHERED_BEHIND < SB_WINDOW, "a program is over before its place is needed again");

/* Bytes of a result that are copied between two looks at the network. */
#define TURN_BYTES ((size_t)16 << 10)

/* The slices of a rank of the node; those behind the lanes have none. */
static uint32_t first_slice(const sb_laned_t *laned, uint32_t local)
{
    const sb_partners_t *partners = &laned->partners;

    if (!sb_has_partners(laned))
        return local;
    return sb_partners_lane(partners, laned->cluster->node, local) * partners->each;
}

/* Where its part is, in a segment. */
static sb_range_t part_of(const sb_laned_t *laned, size_t segment, uint32_t local)
{
    uint32_t first = first_slice(laned, local), count = sb_max(1, laned->partners.each);
    size_t end = sb_laned_bytes(laned, segment);

    if (local >= laned->way.lanes)
        return (sb_range_t){end, end};
    return (sb_range_t){sb_slice_begins(laned, segment, first),
                        sb_slice_begins(laned, segment, first + count)};
}

static void begin_program(const sb_laned_t *laned, size_t segment)
{
    sb_cluster_t *cluster = laned->cluster;
    size_t bytes = sb_range_bytes(part_of(laned, segment, cluster->local));

    if (!sb_is_lane(laned) || bytes == 0)
        return;
    sb_program_t *program = sb_program_of(cluster, segment, cluster->rank);
    program->laned = true;
    sb_program_reduces(program, &laned->way, laned->reduction->operation,
                       sb_laned_place(laned, segment), bytes);
    sb_program_begin(cluster, program);
}

/* What the node combines is dealt out to its lanes. */
static sb_status_t deal(const sb_laned_t *laned, size_t segment)
{
    sb_cluster_t *cluster = laned->cluster;
    const sb_operator_t *operation = laned->reduction->operation;
    const char *send = laned->reduction->send + segment * laned->segment;
    size_t bytes = sb_laned_bytes(laned, segment);

    for (uint32_t i = 0; i < cluster->team->size; i++)
        cluster->parts[i] = sb_range_bytes(part_of(laned, segment, i));
    if (!sb_has_partners(laned))
        return sb_node_reduce_scatter(cluster, operation, send, sb_laned_place(laned, segment),
                                      bytes);
    return sb_node_reduce_turned(cluster, operation, send, sb_laned_place(laned, segment), bytes,
                                 sb_partners_rank(&laned->partners, cluster->node, 0));
}

static sb_status_t begin_segment(const sb_laned_t *laned, size_t segment)
{
    sb_status_t status = sb_program_wait(laned->cluster, segment);

    if (status == SB_OK)
        status = deal(laned, segment);
    if (status == SB_OK && sb_has_partners(laned))
        sb_partners_begin(laned, segment);
    else if (status == SB_OK)
        begin_program(laned, segment);
    return laned->cluster->failure;
}

/* Bytes of the result come to where they belong. Messages go on meanwhile. */
static sb_status_t land(void *context, size_t offset, const void *from, size_t bytes)
{
    const sb_stream_t *part = context;
    sb_laned_t *laned = part->context;

    laned->landed += bytes;
    if (laned->landed >= TURN_BYTES) {
        laned->landed = 0;
        sb_programs_turn(laned->cluster);
    }
    return laned->non_temporal ? sb_stream_write_non_temporal(part, offset, from, bytes)
                               : sb_stream_write(part, offset, from, bytes);
}

/* An allgather may pass on what has come. */
static sb_status_t fetch(void *context, size_t offset, void *to, size_t bytes)
{
    return sb_stream_read(context, offset, to, bytes);
}

static sb_status_t end_segment(sb_laned_t *laned, size_t segment)
{
    sb_cluster_t *cluster = laned->cluster;
    uint32_t size = cluster->team->size;
    sb_stream_t *part = cluster->streams + size;
    char *whole = laned->reduction->receive + segment * laned->segment;
    sb_stream_t own = {.base = sb_laned_place(laned, segment),
                       .bytes = sb_range_bytes(part_of(laned, segment, cluster->local))};
    sb_status_t status = sb_program_wait(cluster, segment);

    for (uint32_t i = 0; i < size; i++) {
        sb_range_t range = part_of(laned, segment, i);
        part[i] = (sb_stream_t){
            .base = whole + range.from, .bytes = sb_range_bytes(range), .context = laned};
        cluster->streams[i] = (sb_stream_t){
            .bytes = part[i].bytes, .read = fetch, .write = land, .context = &part[i]};
    }
    return status == SB_OK ? sb_node_allgather(cluster, &own, cluster->streams) : status;
}

/* --- of a Reduce_scatter -------------------------------------------------------------------- */

/* What of the result belongs to the ranks of this node, in the message: one after the other, as
 * each begins where the parts of all before it end. */
typedef struct kept {
    uint32_t rank; /* which begins here */
    size_t begin;
} kept_t;

static sb_range_t next_kept(const sb_laned_t *laned, uint32_t local, kept_t *at)
{
    const sb_map_t *map = &laned->cluster->map;
    uint32_t rank = sb_map_rank(map, laned->cluster->node, local);

    for (; at->rank < rank; at->rank++)
        at->begin += sb_part_bytes(laned->reduction, map->ranks, at->rank);
    return (sb_range_t){at->begin, at->begin + sb_part_bytes(laned->reduction, map->ranks, rank)};
}

/* What a rank of the node has of the segment's result, likewise. */
static sb_range_t made_by(const sb_laned_t *laned, size_t segment, uint32_t local)
{
    sb_range_t part = part_of(laned, segment, local);
    size_t begin = segment * laned->segment;

    return (sb_range_t){begin + part.from, begin + part.to};
}

/* What both have, which begins at `at` of the first. */
static sb_stream_t common(sb_range_t range, sb_range_t other, char *at)
{
    static char nothing;
    sb_range_t both = sb_overlap(range, other);

    if (sb_range_bytes(both) == 0)
        return (sb_stream_t){.base = &nothing};
    return (sb_stream_t){.base = at + (both.from - range.from), .bytes = sb_range_bytes(both)};
}

/* Each lane gives every rank of the node what it has of that one's part. */
static sb_status_t scatter_segment(const sb_laned_t *laned, size_t segment)
{
    sb_cluster_t *cluster = laned->cluster;
    uint32_t size = cluster->team->size;
    sb_range_t made = made_by(laned, segment, cluster->local);
    sb_range_t kept =
        sb_parts_of(laned->reduction, cluster->map.ranks, cluster->rank, cluster->rank + 1);
    kept_t at = {0, 0};
    sb_status_t status = sb_program_wait(cluster, segment);

    for (uint32_t i = 0; i < size; i++) {
        cluster->streams[i] =
            common(made, next_kept(laned, i, &at), sb_laned_place(laned, segment));
        cluster->streams[size + i] =
            common(kept, made_by(laned, segment, i), laned->reduction->receive);
    }
    return status == SB_OK ? sb_node_alltoall(cluster, cluster->streams, cluster->streams + size)
                           : status;
}

/* --- the call ------------------------------------------------------------------------------- */

static void cut(sb_laned_t *laned)
{
    const sb_schedule_t *way = &laned->way;
    size_t element = laned->reduction->operation->element, unit = element * way->parts;
    /* Each lane's part has room. */
    size_t most = SB_SEGMENT_BYTES / element * element * way->lanes;

    laned->segment = sb_min(way->segment, most) / unit * unit;
    laned->segments = sb_divide_up(laned->reduction->bytes, laned->segment);
    laned->slices = way->lanes;
    if (!sb_has_partners(laned))
        return;
    laned->partners = (sb_partners_t){way->partners, way->lanes};
    laned->slices = laned->cluster->map.nodes;
}

static sb_status_t run(sb_laned_t *laned)
{
    size_t segments = laned->segments;
    size_t behind = sb_has_partners(laned) ? GATHERED_BEHIND : SB_BEHIND;
    sb_status_t status = SB_OK;

    for (size_t turn = 0; turn < segments + behind && status == SB_OK; turn++) {
        if (turn < segments)
            status = begin_segment(laned, turn);
        if (status == SB_OK && sb_has_partners(laned) && turn >= COMBINED_BEHIND &&
            turn < segments + COMBINED_BEHIND)
            status = sb_partners_combine(laned, turn - COMBINED_BEHIND);
        if (status == SB_OK && turn >= behind)
            status = laned->scatters ? scatter_segment(laned, turn - behind)
                                     : end_segment(laned, turn - behind);
    }
    return status;
}

sb_status_t sb_reduce_by_lanes(sb_cluster_t *cluster, const sb_reduction_t *reduction,
                               sb_schedule_t way, bool scatters)
{
    sb_laned_t laned = {.cluster = cluster,
                        .reduction = reduction,
                        .way = way,
                        .scatters = scatters,
                        .non_temporal = sb_node_past_caches(cluster, reduction->bytes)};

    cut(&laned);
    if (run(&laned) == SB_OK)
        sb_programs_end(cluster);
    return sb_call_ends(cluster);
}
