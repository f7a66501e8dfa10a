/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather, Allgather and Allgatherv over nodes. Parts are packed: gathered on each node, exchanged
 * by the leaders (net/bruck.c, long ones net/ring_blocks.c) or sent to the root (net/blocks.c), for
 * Allgather broadcast on each node, and unpacked; as many bytes of each part at a time as fill a
 * segment. While the leaders are busy with one segment the node works on those before and behind.
 * Cost: ceil(log2 N) a + m b for the m bytes of all parts, in the ring (N - 1) a + m b, and a
 * gather and a broadcast on the node of the last segments. Memory: the window, and the teams' for
 * moving parts. Another schedule of leaders may be had by name (sb_named_allgather).
 */
#include "cluster/cluster.h"
#include "cluster/packed.h"

/* The rank's own part, where it is at first. */
static const sb_stream_t *own_part(const sb_cluster_t *cluster, const sb_parts_t *parts)
{
    return parts->in_place ? &parts->receive[cluster->rank] : parts->send;
}

typedef struct gathering {
    sb_cluster_t *cluster;
    const sb_parts_t *parts;
    uint32_t root;
    uint32_t leader;
    sb_program_step_t *write_step;
    bool named;   /* that is what sb_named_allgather has */
    bool alike;   /* parts */
    size_t each;  /* bytes of a part; of the longest */
    size_t piece; /* bytes of each part in a segment */
} gathering_t;

static bool is_to_all(const gathering_t *gathering)
{
    return gathering->write_step != sb_net_gather;
}

static sb_packing_t packing_of(const gathering_t *gathering, size_t segment)
{
    return (sb_packing_t){.map = &gathering->cluster->map,
                          .part = gathering->parts->receive,
                          .each = gathering->alike ? gathering->each : 0,
                          .from = segment * gathering->piece,
                          .most = gathering->piece};
}

/* Where the packed bytes of all belong. */
static sb_stream_t unpacked(const gathering_t *gathering, size_t segment)
{
    sb_cluster_t *cluster = gathering->cluster;
    sb_packing_t packing = packing_of(gathering, segment);
    uint32_t count = 0;

    for (uint32_t i = 0; i < cluster->map.ranks; i++) {
        uint32_t rank = cluster->map.member[i];
        count = sb_items_add(cluster->items, count, &packing.part[rank], packing.from,
                             sb_packed_bytes(&packing, rank));
    }
    return sb_row_stream(cluster->rows, cluster->items, count);
}

/* The node's bytes come to the leader, which begins to exchange them. */
static sb_status_t begin_segment(const void *context, size_t segment)
{
    const gathering_t *gathering = context;
    sb_cluster_t *cluster = gathering->cluster;
    const sb_map_t *map = &cluster->map;
    sb_packing_t packing = packing_of(gathering, segment);
    sb_item_t own = {own_part(cluster, gathering->parts), packing.from,
                     sb_packed_bytes(&packing, cluster->rank)};
    sb_row_t row;
    sb_stream_t send = sb_item_stream(&row, &own);
    sb_stream_t *to = cluster->streams;
    char *packed = sb_cluster_segment(cluster, segment);

    if (gathering->leader != cluster->rank)
        return sb_node_gather(cluster, gathering->leader, &send, NULL, false);
    if (sb_program_wait(cluster, segment) != SB_OK)
        return cluster->failure;
    char *at = packed + sb_packed_before(&packing, map->begin[cluster->node]);
    for (uint32_t i = 0; i < sb_map_size(map, cluster->node); i++) {
        size_t bytes = sb_packed_bytes(&packing, sb_map_rank(map, cluster->node, i));
        to[i] = (sb_stream_t){.base = at, .bytes = bytes};
        at += bytes;
    }
    sb_status_t status = sb_node_gather(cluster, cluster->rank, &send, to, false);
    sb_program_t *program = sb_program_of(cluster, segment, gathering->root);
    program->write_step = gathering->write_step;
    program->packing = packing;
    program->bytes_at = packed;
    if (gathering->named) {
        program->context = cluster->schedule;
        program->scratch = packed + SB_SEGMENT_BYTES;
    }
    if (status == SB_OK)
        sb_program_begin(cluster, program);
    return status;
}

static sb_status_t end_segment(const void *context, size_t segment)
{
    const gathering_t *gathering = context;
    sb_cluster_t *cluster = gathering->cluster;
    if (!is_to_all(gathering) && gathering->root != cluster->rank)
        return cluster->failure;
    sb_stream_t to = unpacked(gathering, segment);
    sb_stream_t packed = {.base = sb_cluster_segment(cluster, segment), .bytes = to.bytes};
    if (gathering->leader != cluster->rank)
        return sb_node_bcast(cluster, gathering->leader, &to);
    sb_status_t status = sb_program_wait(cluster, segment);
    if (status == SB_OK && is_to_all(gathering))
        status = sb_node_bcast(cluster, cluster->rank, &packed);
    if (status == SB_OK)
        sb_data_ends(cluster, sb_stream_write(&to, 0, packed.base, packed.bytes));
    return status;
}

static sb_status_t run(gathering_t *gathering)
{
    sb_cluster_t *cluster = gathering->cluster;
    const sb_map_t *map = &cluster->map;
    sb_status_t status = sb_parts_begin(cluster);

    if (status != SB_OK || gathering->each == 0)
        return status;
    gathering->leader = sb_leader_of(cluster, cluster->node, gathering->root);
    gathering->piece = sb_packed_piece(map->ranks, gathering->each);
    if (gathering->named)
        gathering->piece = sb_min(gathering->piece, SB_SEGMENT_BYTES / map->ranks);
    size_t segments = sb_divide_up(gathering->each, gathering->piece);
    if (gathering->write_step == sb_net_bruck &&
        sb_packed_ring_suits(map->nodes, map->ranks, gathering->each))
        gathering->write_step = sb_net_ring_blocks;
    return sb_segments_run(cluster, segments, begin_segment, end_segment, gathering);
}

sb_status_t sb_cluster_gather(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    gathering_t gathering = {.cluster = cluster,
                             .parts = parts,
                             .root = parts->root,
                             .write_step = sb_net_gather,
                             .alike = true,
                             .each = own_part(cluster, parts)->bytes};

    return run(&gathering);
}

/* The schedule is that of the name asked for, or the usual one. */
static sb_status_t gather_to_all(sb_cluster_t *cluster, const sb_parts_t *parts,
                                 sb_collective_t collective)
{
    bool named = sb_allgather_is_named(cluster, collective);
    gathering_t gathering = {.cluster = cluster,
                             .parts = parts,
                             .root = sb_map_rank(&cluster->map, 0, 0),
                             .named = named,
                             .write_step = named ? sb_named_allgather->write_step : sb_net_bruck,
                             .alike = true};

    for (uint32_t rank = 0; rank < cluster->map.ranks; rank++) {
        gathering.each = sb_max(gathering.each, parts->receive[rank].bytes);
        gathering.alike = gathering.alike && parts->receive[rank].bytes == parts->receive[0].bytes;
    }
    return run(&gathering);
}

sb_status_t sb_cluster_allgather(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    return gather_to_all(cluster, parts, SB_ALLGATHER);
}

sb_status_t sb_cluster_allgatherv(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    return gather_to_all(cluster, parts, SB_ALLGATHERV);
}
