/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The published pipelined broadcast for long messages, with fixed leaders: a scatter down a
 * binomial tree, then an allgather round a ring, each step of which is handed to the node as it
 * comes (aas.h). Cost: (log2 N + N - 1) a + 2 (N - 1) / N m b. Memory: none; of data in pieces a
 * copy. Source: the P-RingAAS of MPIActor; the algorithm between nodes is van de Geijn's, as in
 * MPICH.
 */
#include "cluster/arrival/aas.h"

static sb_status_t run(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream)
{
    return sb_aas(cluster, root, stream, false, false);
}

const sb_spanning_t sb_bcast_p_ringaas = {
    .name = "p-ringaas",
    .collective = SB_BCAST,
    .doc = "A scatter and an allgather round a ring of fixed leaders.",
    .source = "Liu, Song, Lu, Xu 2011, P-RingAAS",
    .bcast = run,
};
