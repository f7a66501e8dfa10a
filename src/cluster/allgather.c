/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather and Allgatherv over nodes. Parts are packed: gathered on each node, exchanged by the
 * leaders (net/bruck.c), broadcast on each node and unpacked there; as many bytes of each part at a
 * time as fill a segment. While the leaders exchange one segment the node works on those before and
 * behind. Cost: ceil(log2 N) a + m b for the m bytes of all parts, and a gather and a broadcast on
 * the node of the last segments. Memory: the window, and the teams' for moving parts.
 */
#include "cluster/cluster.h"
#include "coll/vector/vector.h"

/* Bytes of a segment, packed: the whole window of a program, at most. */
#define SEGMENT_LEAST ((size_t)8192)
#define SEGMENT_MOST (2 * SB_SEGMENT_BYTES)
/* Segments between the node's gather and its broadcast. */
#define BEHIND 3

/* The rank's own part, where it is at first. */
static const sb_stream_t *own_part(const sb_cluster_t *cluster, const sb_parts_t *parts)
{
    return parts->in_place ? &parts->receive[cluster->rank] : parts->send;
}

/* Bytes of a stream from some place on. */
typedef struct slice {
    const sb_stream_t *stream;
    size_t offset;
} slice_t;

static sb_status_t read_slice(void *context, size_t offset, void *to, size_t bytes)
{
    const slice_t *slice = context;

    return sb_stream_read(slice->stream, slice->offset + offset, to, bytes);
}

static sb_stream_t stream_of(slice_t *slice, size_t bytes)
{
    const sb_stream_t *stream = slice->stream;

    return (sb_stream_t){.base = stream->base == NULL ? NULL : stream->base + slice->offset,
                         .bytes = bytes,
                         .read = read_slice,
                         .context = slice};
}

typedef struct gathering {
    sb_cluster_t *cluster;
    const sb_parts_t *parts;
    uint32_t leader;
    size_t piece; /* bytes of each part in a segment */
} gathering_t;

static sb_packing_t packing_of(const gathering_t *gathering, size_t segment)
{
    return (sb_packing_t){.map = &gathering->cluster->map,
                          .part = gathering->parts->receive,
                          .from = segment * gathering->piece,
                          .most = gathering->piece};
}

/* Packed bytes go to where they belong. */
static sb_status_t unpack(void *context, size_t offset, const void *from, size_t bytes)
{
    const sb_packing_t *packing = context;
    size_t begin = 0, end = offset + bytes;
    sb_status_t status = SB_OK;

    for (uint32_t i = 0; i < packing->map->ranks && begin < end; i++) {
        uint32_t rank = packing->map->member[i];
        size_t next = begin + sb_packed_bytes(packing, rank);
        size_t first = sb_max(begin, offset), last = sb_min(next, end);
        if (first < last)
            status = sb_first(status,
                              sb_stream_write(&packing->part[rank], packing->from + (first - begin),
                                              (const char *)from + (first - offset), last - first));
        begin = next;
    }
    return status;
}

/* The node's bytes come to the leader, which begins to exchange them. */
static sb_status_t begin_segment(const gathering_t *gathering, size_t segment)
{
    sb_cluster_t *cluster = gathering->cluster;
    const sb_map_t *map = &cluster->map;
    sb_packing_t packing = packing_of(gathering, segment);
    slice_t slice = {own_part(cluster, gathering->parts), packing.from};
    sb_stream_t send = stream_of(&slice, sb_packed_bytes(&packing, cluster->rank)), alone;
    sb_stream_t *to = cluster->team == NULL ? &alone : cluster->streams;
    char *packed = sb_window_of(cluster, segment);

    if (gathering->leader != cluster->rank)
        return sb_node_gather(cluster, gathering->leader, &send, NULL);
    for (uint32_t i = 0, first = map->begin[cluster->node]; i < sb_map_size(map, cluster->node);
         i++)
        to[i] = (sb_stream_t){.base = packed + sb_packed_before(&packing, first + i),
                              .bytes = sb_packed_bytes(&packing, map->member[first + i])};
    sb_status_t status = sb_node_gather(cluster, cluster->rank, &send, to);
    sb_program_t *program = sb_program_of(cluster, segment, cluster->rank);
    program->write_step = sb_net_bruck;
    program->packing = packing;
    program->bytes_at = packed;
    if (status == SB_OK)
        sb_program_begin(cluster, program);
    return status;
}

static sb_status_t end_segment(const gathering_t *gathering, size_t segment)
{
    sb_cluster_t *cluster = gathering->cluster;
    sb_packing_t packing = packing_of(gathering, segment);
    size_t bytes = sb_packed_before(&packing, cluster->map.ranks);
    sb_stream_t stream = {.bytes = bytes, .write = unpack, .context = &packing};

    if (gathering->leader != cluster->rank)
        return sb_node_bcast(cluster, gathering->leader, &stream);
    sb_status_t status = sb_program_wait(cluster, segment);
    stream.base = sb_window_of(cluster, segment);
    if (status == SB_OK)
        status = sb_node_bcast(cluster, cluster->rank, &stream);
    if (status == SB_OK)
        sb_data_ends(cluster, unpack(&packing, 0, stream.base, bytes));
    return status;
}

static void run(const gathering_t *gathering, size_t segments)
{
    sb_status_t status = SB_OK;

    for (size_t turn = 0; turn < segments + BEHIND && status == SB_OK; turn++) {
        if (turn < segments)
            status = begin_segment(gathering, turn);
        if (status == SB_OK && turn >= BEHIND)
            status = end_segment(gathering, turn - BEHIND);
    }
}

/* Enough bytes at a time that latency does not count, and few enough that stages overlap. */
static size_t piece_of(const sb_map_t *map, size_t longest)
{
    size_t half = longest / 2 * map->ranks;
    size_t segment = sb_min(sb_max(half, SEGMENT_LEAST), SEGMENT_MOST);

    return sb_min(segment / map->ranks, longest);
}

sb_status_t sb_cluster_allgather(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    const sb_map_t *map = &cluster->map;
    gathering_t gathering = {
        .cluster = cluster, .parts = parts, .leader = sb_map_rank(map, cluster->node, 0)};
    size_t longest = 0;

    if (map->ranks > SEGMENT_LEAST)
        return SB_ERR_UNSUPPORTED;
    sb_status_t status = sb_cluster_need_parts(cluster);
    if (status == SB_OK)
        status = sb_call_begins(cluster);
    for (uint32_t rank = 0; rank < map->ranks; rank++)
        longest = sb_max(longest, parts->receive[rank].bytes);
    if (status != SB_OK || longest == 0)
        return status;
    gathering.piece = piece_of(map, longest);
    run(&gathering, (longest + gathering.piece - 1) / gathering.piece);
    return sb_call_ends(cluster);
}
