/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The published pipelined broadcast for messages of middle length on a power of two of nodes, with
 * fixed leaders: a scatter down a binomial tree, then an allgather by recursive doubling, whose
 * steps are handed to the node as they come (aas.h). Cost: 2 log2 N a + 2 (N - 1) / N m b. Memory:
 * none; of data in pieces a copy. Source: the P-RDAAS of MPIActor; the algorithm between nodes is
 * van de Geijn's, as in MPICH.
 */
#include "cluster/arrival/aas.h"

static sb_status_t run(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream)
{
    return sb_aas(cluster, root, stream, false, true);
}

const sb_spanning_t sb_bcast_p_rdaas = {
    .name = "p-rdaas",
    .collective = SB_BCAST,
    .doc = "A scatter and an allgather by recursive doubling among fixed leaders.",
    .source = "Liu, Song, Lu, Xu 2011, P-RDAAS",
    .bcast = run,
};
