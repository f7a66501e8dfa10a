/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The published pipelined broadcast for short messages, with fixed leaders: the root on its node,
 * elsewhere the lowest rank. A binomial tree of leaders, each of which waits for its children one
 * after the other and sends each the whole message; the node's broadcast begins when it has come,
 * and goes on beside what is sent. Cost: ceil(log2 N) (a + m b), and at each step the wait for a
 * child that is late. Memory: none; of data in pieces a copy. Source: P-BT of Liu,
 * Song, Lu, Xu, 2011.
 */
#include "baseline/forms.h"
#include "cluster/arrival/transit.h"

static void turn(void *context)
{
    sb_transit_turn(context);
}

static bool is_done(void *context)
{
    return sb_transit_is_done(context);
}

sb_status_t sb_bcast_down_tree(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream)
{
    const sb_map_t *map = &cluster->map;
    sb_net_tree_t tree = sb_net_tree(map->nodes, cluster->node, map->node_of[root], false);
    sb_doorway_t *doorway = cluster->doorway;
    sb_transit_t transit;
    sb_status_t status = sb_transit_open(&transit, cluster, root, stream, stream->bytes, 1);

    if (status != SB_OK)
        return status;
    if (cluster->rank != root)
        transit.source = doorway->leader[tree.parent];
    transit.children = tree.children;
    for (uint32_t i = 0; i < tree.children; i++)
        doorway->child[i] = doorway->leader[tree.child[i]];
    cluster->refill = turn;
    cluster->refill_context = &transit;
    sb_programs_turn(cluster);
    if (sb_transit_on_node(&transit) == SB_OK)
        sb_cluster_wait(cluster, is_done, &transit);
    return sb_transit_close(&transit);
}

static sb_status_t run(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream)
{
    sb_status_t status;

    if (!sb_form_begins(cluster, root, stream, false, &status))
        return status;
    sb_leaders_fixed(cluster, root);
    return sb_bcast_down_tree(cluster, root, stream);
}

const sb_spanning_t sb_bcast_p_bt = {
    .name = "p-bt",
    .collective = SB_BCAST,
    .doc = "A binomial tree of fixed leaders, the whole message at a time.",
    .source = "Liu, Song, Lu, Xu 2011, P-BT",
    .bcast = run,
};
