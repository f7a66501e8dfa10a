/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter over nodes: the root packs as many bytes of each part as fill a segment, node by node;
 * the nodes' blocks go down a tree (net/blocks.c), and each leader scatters its own on its node,
 * while the next segments are under way. Cost: ceil(log2 N) a + m b for the m bytes of all parts,
 * and a copy of them at the root. Memory: the window, and the teams' for moving parts. Short parts
 * go by letters to whoever comes first, where that is asked for or pays (scatterv.c).
 */
#include "cluster/arrival/arrival.h"
#include "cluster/post.h"

typedef struct scattering {
    sb_cluster_t *cluster;
    const sb_parts_t *parts;
    uint32_t leader;
    size_t each;  /* bytes of a part */
    size_t piece; /* bytes of each part in a segment */
} scattering_t;

static sb_packing_t packing_of(const scattering_t *scattering, size_t segment)
{
    return (sb_packing_t){.map = &scattering->cluster->map,
                          .each = scattering->each,
                          .from = segment * scattering->piece,
                          .most = scattering->piece};
}

static void pack(const scattering_t *scattering, const sb_packing_t *packing, char *to)
{
    sb_cluster_t *cluster = scattering->cluster;
    size_t bytes = sb_packed_bytes(packing, 0);

    for (uint32_t i = 0; i < cluster->map.ranks; i++)
        sb_data_ends(cluster, sb_stream_read(&scattering->parts->send[cluster->map.member[i]],
                                             packing->from, to + i * bytes, bytes));
}

static sb_status_t begin_segment(const void *context, size_t segment)
{
    const scattering_t *scattering = context;
    sb_cluster_t *cluster = scattering->cluster;
    char *packed = sb_cluster_segment(cluster, segment);

    if (scattering->leader != cluster->rank)
        return cluster->failure;
    if (sb_program_wait(cluster, segment) != SB_OK)
        return cluster->failure;
    sb_program_t *program = sb_program_of(cluster, segment, scattering->parts->root);
    program->write_step = sb_net_scatter;
    program->packing = packing_of(scattering, segment);
    program->bytes_at = packed;
    if (cluster->rank == scattering->parts->root)
        pack(scattering, &program->packing, packed);
    sb_program_begin(cluster, program);
    return cluster->failure;
}

/* The leader's own part is no part of the team's scatter. */
static void take_own(const scattering_t *scattering, const sb_packing_t *packing,
                     const char *packed)
{
    sb_cluster_t *cluster = scattering->cluster;
    size_t bytes = sb_packed_bytes(packing, cluster->rank);
    size_t place = cluster->map.begin[cluster->node] + cluster->local;

    if (!scattering->parts->in_place)
        sb_data_ends(cluster, sb_stream_write(scattering->parts->receive, packing->from,
                                              packed + place * bytes, bytes));
}

static sb_status_t end_segment(const void *context, size_t segment)
{
    const scattering_t *scattering = context;
    sb_cluster_t *cluster = scattering->cluster;
    const sb_map_t *map = &cluster->map;
    sb_packing_t packing = packing_of(scattering, segment);
    size_t bytes = sb_packed_bytes(&packing, cluster->rank);
    char *packed = sb_cluster_segment(cluster, segment);

    if (scattering->leader != cluster->rank) {
        sb_item_t own = {scattering->parts->receive, packing.from, bytes};
        sb_row_t row;
        sb_stream_t receive = sb_item_stream(&row, &own);
        return sb_node_scatter(cluster, scattering->leader, NULL, &receive);
    }
    if (sb_program_wait(cluster, segment) != SB_OK)
        return cluster->failure;
    take_own(scattering, &packing, packed);
    for (uint32_t i = 0; cluster->team != NULL && i < sb_map_size(map, cluster->node); i++)
        cluster->streams[i] =
            (sb_stream_t){.base = packed + (map->begin[cluster->node] + i) * bytes, .bytes = bytes};
    return sb_node_scatter(cluster, cluster->rank, cluster->streams, NULL);
}

static sb_status_t scatter_by_tree(sb_cluster_t *cluster, const sb_parts_t *parts, size_t each)
{
    scattering_t scattering = {.cluster = cluster,
                               .parts = parts,
                               .leader = sb_leader_of(cluster, cluster->node, parts->root),
                               .each = each};

    sb_status_t status = sb_call_begins(cluster);
    if (status != SB_OK || scattering.each == 0)
        return status;
    scattering.piece = sb_packed_piece(cluster->map.ranks, scattering.each);
    size_t segments = sb_divide_up(scattering.each, scattering.piece);
    return sb_segments_run(cluster, segments, begin_segment, end_segment, &scattering);
}

sb_status_t sb_cluster_scatter(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    size_t each = cluster->rank == parts->root ? parts->send[0].bytes : parts->receive->bytes;
    bool first;
    sb_status_t status = sb_heads_begin(cluster, parts->root, &first);

    if (status != SB_OK)
        return status;
    if (first && each > 0 && each <= sb_short_most(&cluster->map))
        status = sb_scatter_letters(cluster, parts, true);
    else
        status = scatter_by_tree(cluster, parts, each);
    return sb_first(sb_heads_end(cluster, parts->root), status);
}
