/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The published competitive broadcast for messages of middle length: as p-rdaas, among the ranks
 * that come first. Each step of an allgather needs all nodes: so the root tells all leaders who the
 * others are as soon as it knows that. Cost: as p-rdaas, and a message to the root and one back.
 * Memory: as p-rdaas. Source: the CP-RDAAS of MPIActor, which addresses nodes.
 */
#include "cluster/arrival/aas.h"

static sb_status_t run(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream)
{
    return sb_aas(cluster, root, stream, true, true);
}

const sb_spanning_t sb_bcast_cp_rdaas = {
    .name = "cp-rdaas",
    .collective = SB_BCAST,
    .doc = "A scatter and an allgather by recursive doubling among leaders that came first.",
    .source = "Liu, Song, Lu, Xu 2011, CP-RDAAS",
    .bcast = run,
};
