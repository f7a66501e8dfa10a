/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The published competitive broadcast for long messages: as p-ringaas, among the ranks that come
 * first, of whom the root tells all as soon as it knows them. Cost: as p-ringaas, and a message to
 * the root and one back. Memory: as p-ringaas. Source: the CP-RingAAS of MPIActor, which addresses
 * nodes.
 */
#include "cluster/arrival/aas.h"

static sb_status_t run(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream)
{
    return sb_aas(cluster, root, stream, true, false);
}

const sb_spanning_t sb_bcast_cp_ringaas = {
    .name = "cp-ringaas",
    .collective = SB_BCAST,
    .doc = "A scatter and an allgather round a ring of leaders that came first.",
    .source = "Liu, Song, Lu, Xu 2011, CP-RingAAS",
    .bcast = run,
};
