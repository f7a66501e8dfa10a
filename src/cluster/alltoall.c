/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall, Alltoallv and Alltoallw over nodes. Parts between ranks of one node go by the team's
 * own algorithm. Of the others short ones go with those of their node, by lanes (lanes.c); long
 * ones straight from rank to rank, in turns (post.h). In Alltoall all know which it is. Elsewhere
 * only two ranks know the size of a part: each of them sees by it alone which way the part takes,
 * and both ways are gone, the lanes first. Cost: see there; parts of both kinds cross the network
 * once. Memory: the window, and the teams' for moving parts.
 */
#include "cluster/lanes.h"

/* Fewer bytes of a part at once do not pay. */
#define PIECE_LEAST 8

static sb_status_t exchange_within(void *context)
{
    const sb_lanes_t *lanes = context;
    sb_cluster_t *cluster = lanes->cluster;
    const sb_map_t *map = &cluster->map;
    uint32_t size = sb_map_size(map, cluster->node);

    for (uint32_t i = 0; i < size; i++) {
        uint32_t rank = sb_map_rank(map, cluster->node, i);
        cluster->streams[i] = lanes->parts->send[rank];
        cluster->streams[size + i] = lanes->parts->receive[rank];
    }
    return sb_node_alltoall(cluster, cluster->streams, cluster->streams + size);
}

typedef struct directs {
    sb_direct_t way[SB_DIRECTIONS];
} directs_t;

static bool next_sent(void *context, sb_letter_t *letter)
{
    return sb_direct_next(&((directs_t *)context)->way[SB_OUT], letter);
}

static bool next_received(void *context, sb_letter_t *letter)
{
    return sb_direct_next(&((directs_t *)context)->way[SB_IN], letter);
}

/* Parts above that size to and from other nodes, and meanwhile all between ranks of this one. */
static sb_status_t exchange_directly(sb_lanes_t *lanes, size_t above)
{
    sb_cluster_t *cluster = lanes->cluster;
    sb_direct_t direct = {.cluster = cluster, .only = SB_NET_ANY, .above = above};
    directs_t directs = {.way = {direct, direct}};
    sb_post_t post = {.cluster = cluster, .context = &directs, .next = {next_sent, next_received}};

    directs.way[SB_OUT].part = lanes->parts->send;
    directs.way[SB_IN].part = lanes->parts->receive;
    directs.way[SB_IN].way = SB_IN;
    sb_post_begin(&post);
    sb_status_t status = exchange_within(lanes);
    return status == SB_OK ? sb_post_end(&post) : status;
}

sb_status_t sb_cluster_alltoall(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    sb_lanes_t lanes = {.cluster = cluster, .parts = parts};
    size_t bytes = parts->send[0].bytes, most = sb_lanes_most(&cluster->map, false);
    sb_status_t status = sb_parts_begin(cluster);

    if (status != SB_OK || bytes == 0)
        return status;
    if (bytes > SB_SHORT_EXCHANGED || (most < bytes && most < PIECE_LEAST)) {
        exchange_directly(&lanes, 0);
        return sb_call_ends(cluster);
    }
    for (; lanes.from < bytes && status == SB_OK; lanes.from += lanes.piece) {
        lanes.piece = sb_min(most, bytes - lanes.from);
        status = sb_lanes_exchange(&lanes, lanes.from == 0 ? exchange_within : NULL, &lanes);
    }
    return sb_call_ends(cluster);
}

sb_status_t sb_cluster_alltoallv(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    size_t most = sb_min(sb_lanes_most(&cluster->map, true), SB_SHORT_EXCHANGED);
    sb_lanes_t lanes = {.cluster = cluster, .parts = parts, .told = true, .piece = most};
    bool by_lanes = most >= PIECE_LEAST;
    sb_status_t status = sb_parts_begin(cluster);

    if (status != SB_OK)
        return status;
    if (by_lanes)
        status = sb_lanes_exchange(&lanes, NULL, NULL);
    if (status == SB_OK)
        exchange_directly(&lanes, by_lanes ? most : 0);
    return sb_call_ends(cluster);
}
