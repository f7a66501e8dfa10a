/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The published competitive broadcast for short messages: the binomial tree of p-bt, whose leaders
 * are the ranks that come first. A leader waits for its children in the order of the tree; it hears
 * of each from the root when that has asked. Cost: as p-bt, and a message to the root and one back
 * before the first is sent. Memory: as p-bt. Source: the CP-BT of MPIActor, which addresses nodes;
 * here the root tells who came.
 */
#include "baseline/forms.h"
#include "cluster/arrival/cast.h"

static sb_net_tree_t tree_of(const sb_cast_t *cast, uint32_t node)
{
    const sb_map_t *map = &cast->cluster->map;

    return sb_net_tree(map->nodes, node, map->node_of[cast->root], false);
}

static bool is_known(const sb_cast_t *cast, uint32_t node)
{
    return cast->cluster->doorway->guest[node].leader != SB_NET_ANY;
}

/* It has heard whom the message comes from, or need not. */
static bool is_introduced(const sb_cast_t *cast, uint32_t node)
{
    return node == cast->cluster->node || is_known(cast, tree_of(cast, node).parent);
}

/* Tells the node of those of its children that are known and the next in order. */
static void tell(sb_cast_t *cast, uint32_t node)
{
    sb_net_tree_t tree = tree_of(cast, node);
    const sb_guest_t *guest = &cast->cluster->doorway->guest[node];

    while (guest->told < tree.children && is_known(cast, tree.child[guest->told]))
        sb_cast_serve(cast, node, tree.child[guest->told], guest->told + 1 == tree.children);
}

/* The parent is known: the child hears of it, and of its own children. */
static void introduce(sb_cast_t *cast, uint32_t node, uint32_t parent)
{
    sb_cast_from(cast, node, cast->cluster->doorway->guest[parent].leader,
                 tree_of(cast, node).children == 0);
    tell(cast, node);
}

static void asked(sb_cast_t *cast, uint32_t node)
{
    sb_net_tree_t tree = tree_of(cast, node);

    if (is_known(cast, tree.parent)) {
        introduce(cast, node, tree.parent);
        if (is_introduced(cast, tree.parent))
            tell(cast, tree.parent);
    }
    for (uint32_t i = 0; i < tree.children; i++) {
        if (is_known(cast, tree.child[i]))
            introduce(cast, tree.child[i], node);
    }
}

static sb_status_t run(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream)
{
    return sb_cast(cluster, root, stream, stream->bytes, 1, asked);
}

const sb_spanning_t sb_bcast_cp_bt = {
    .name = "cp-bt",
    .collective = SB_BCAST,
    .doc = "A binomial tree of leaders that came first, the whole message at a time.",
    .source = "Liu, Song, Lu, Xu 2011, CP-BT",
    .bcast = run,
};
