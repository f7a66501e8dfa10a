/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gatherv over nodes. Only the root knows all sizes, and each rank its own, so what a part's way is
 * follows from its size alone, which both its ends know. Short parts of a node are gathered at its
 * leader, sizes first, and go to the root as one letter, which puts each where it belongs. Long
 * ones go straight from their ranks to the root, in pieces. The root's own node gathers at the root
 * meanwhile. Cost: two gathers on a node, and m b + (N - 1) o at the root for m bytes of all; o is
 * what a message costs a processor. Memory: the window, and the teams' for moving parts.
 */
#include "cluster/post.h"

typedef struct gathering {
    sb_cluster_t *cluster;
    const sb_parts_t *parts;
    size_t most; /* bytes of a short part */
    uint32_t leader;
    uint32_t node;  /* at the root: the next whose letter it takes; in the order of nodes */
    size_t packed;  /* at a leader: bytes of its node's letter; 0: none, or it has gone */
    uint32_t taken; /* letters of nodes */
    sb_direct_t direct;
    sb_row_t row[SB_LETTERS];
    sb_stream_t stream[SB_LETTERS];
} gathering_t;

static bool is_root(const gathering_t *gathering)
{
    return gathering->cluster->rank == gathering->parts->root;
}

/* Of the window, what sends have no use for at a leader: it receives nothing. */
static char *packed_at(const gathering_t *gathering)
{
    return sb_cluster_segment(gathering->cluster, SB_LETTERS);
}

/* The parts of the root's node go where they belong. */
static sb_status_t gather_at_root(const gathering_t *gathering)
{
    sb_cluster_t *cluster = gathering->cluster;
    const sb_parts_t *parts = gathering->parts;

    for (uint32_t i = 0; is_root(gathering) && i < sb_map_size(&cluster->map, cluster->node); i++)
        cluster->streams[i] = parts->receive[sb_map_rank(&cluster->map, cluster->node, i)];
    return sb_node_gather(cluster, parts->root, parts->send, cluster->streams, parts->in_place);
}

static sb_status_t gather_sizes(const gathering_t *gathering)
{
    sb_cluster_t *cluster = gathering->cluster;
    uint32_t mine = (uint32_t)sb_short(gathering->parts->send->bytes, gathering->most);
    sb_stream_t send = {.base = (char *)&mine, .bytes = sizeof mine};

    for (uint32_t i = 0; i < sb_map_size(&cluster->map, cluster->node); i++)
        cluster->streams[i] =
            (sb_stream_t){.base = (char *)&cluster->sizes[i], .bytes = sizeof mine};
    return sb_node_gather(cluster, gathering->leader, &send, cluster->streams, false);
}

static sb_status_t gather_short(gathering_t *gathering)
{
    sb_cluster_t *cluster = gathering->cluster;
    sb_stream_t send = *gathering->parts->send;
    bool leads = gathering->leader == cluster->rank;

    send.bytes = sb_short(send.bytes, gathering->most);
    for (uint32_t i = 0; leads && i < sb_map_size(&cluster->map, cluster->node); i++) {
        cluster->streams[i] = (sb_stream_t){.base = packed_at(gathering) + gathering->packed,
                                            .bytes = cluster->sizes[i]};
        gathering->packed += cluster->sizes[i];
    }
    return sb_node_gather(cluster, gathering->leader, &send, cluster->streams, false);
}

static bool next_sent(void *context, sb_letter_t *letter)
{
    gathering_t *gathering = context;

    if (gathering->packed == 0)
        return sb_direct_next(&gathering->direct, letter);
    *letter = (sb_letter_t){.peer = gathering->parts->root,
                            .kind = SB_KIND_NODE,
                            .data = packed_at(gathering),
                            .bytes = gathering->packed};
    gathering->packed = 0;
    return true;
}

/* The node's short parts, as a row of those that they go to. */
static sb_stream_t short_parts(gathering_t *gathering, uint32_t node, sb_row_t *row)
{
    sb_cluster_t *cluster = gathering->cluster;
    const sb_map_t *map = &cluster->map;

    for (uint32_t i = map->begin[node]; i < map->begin[node + 1]; i++) {
        const sb_stream_t *part = &gathering->parts->receive[map->member[i]];
        cluster->items[i] =
            (sb_item_t){.stream = part, .bytes = sb_short(part->bytes, gathering->most)};
    }
    return sb_row_stream(row, cluster->items + map->begin[node], sb_map_size(map, node));
}

static bool next_received(void *context, sb_letter_t *letter)
{
    gathering_t *gathering = context;
    const sb_map_t *map = &gathering->cluster->map;
    sb_stream_t *stream = &gathering->stream[gathering->taken % SB_LETTERS];

    while (gathering->node < map->nodes) {
        uint32_t node = gathering->node++;
        *stream = short_parts(gathering, node, &gathering->row[gathering->taken % SB_LETTERS]);
        if (node == gathering->cluster->node || stream->bytes == 0)
            continue;
        gathering->taken++;
        *letter =
            (sb_letter_t){.peer = sb_leader_of(gathering->cluster, node, gathering->parts->root),
                          .kind = SB_KIND_NODE,
                          .stream = stream,
                          .bytes = stream->bytes};
        return true;
    }
    return sb_direct_next(&gathering->direct, letter);
}

static sb_status_t run(gathering_t *gathering)
{
    sb_cluster_t *cluster = gathering->cluster;
    bool with_root = cluster->map.node_of[gathering->parts->root] == cluster->node;
    sb_post_t post = {.cluster = cluster, .context = gathering};
    sb_status_t status = SB_OK;

    if (is_root(gathering)) {
        post.next[SB_IN] = next_received;
        sb_post_begin(&post);
    }
    if (with_root) {
        status = gather_at_root(gathering);
    } else {
        status = gather_sizes(gathering);
        if (status == SB_OK)
            status = gather_short(gathering);
        post.next[SB_OUT] = next_sent;
        if (status == SB_OK)
            sb_post_begin(&post);
    }
    if (status == SB_OK)
        sb_post_end(&post);
    return sb_call_ends(cluster);
}

sb_status_t sb_cluster_gatherv(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    bool at_root = cluster->rank == parts->root;
    size_t most = sb_short_most(&cluster->map);
    gathering_t gathering = {.cluster = cluster,
                             .parts = parts,
                             .most = most,
                             .leader = sb_leader_of(cluster, cluster->node, parts->root),
                             .direct = {.cluster = cluster,
                                        .way = at_root ? SB_IN : SB_OUT,
                                        .part = at_root ? parts->receive : parts->send,
                                        .only = at_root ? SB_NET_ANY : parts->root,
                                        .above = most}};
    sb_status_t status = sb_parts_begin(cluster);

    return status == SB_OK ? run(&gathering) : status;
}
