/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What competition of leaders could bring at best: the binomial tree of p-bt, with messages that
 * are addressed to nodes and taken by whoever is there first. An oracle stands for that: all know
 * beforehand who will be the first of each node, so there is neither an election nor a word to the
 * root. Cost: as p-bt. Memory: none. Source: the node-addressed messages of MPIActor, idealised.
 */
#include "baseline/bcast_ideal.h"

#include "baseline/forms.h"

static sb_oracle_t *oracle;
static void *oracle_context;

void sb_ideal_tell(sb_oracle_t *told, void *context)
{
    oracle = told;
    oracle_context = context;
}

uint32_t sb_ideal_head(const sb_cluster_t *cluster, uint32_t root, uint32_t node, bool last)
{
    return node == cluster->map.node_of[root] ? root
                                              : oracle(oracle_context, cluster->rank, node, last);
}

static sb_status_t run(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream)
{
    uint32_t leader;
    sb_status_t status = sb_form_opens(cluster, root, stream, false, &leader);

    if (status != SB_OK || stream->bytes == 0)
        return status;
    for (uint32_t node = 0; node < cluster->map.nodes; node++)
        cluster->doorway->leader[node] = sb_ideal_head(cluster, root, node, false);
    leader = cluster->doorway->leader[cluster->node];
    if (leader == cluster->rank)
        return sb_bcast_down_tree(cluster, root, stream);
    sb_node_bcast(cluster, leader, stream);
    return sb_call_ends(cluster);
}

const sb_spanning_t sb_bcast_cp_ideal = {
    .name = "cp-ideal",
    .collective = SB_BCAST,
    .doc = "A binomial tree of the ranks that will come first, of whom all know beforehand.",
    .source = "Liu, Song, Lu, Xu 2011, messages addressed to nodes",
    .bcast = run,
};
