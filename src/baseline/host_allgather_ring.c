/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather and Allgatherv of a flat host in a ring: in every round each rank gives its right
 * neighbour the part that it got in the round before. Cost: (p - 1) (a + m / p b) for m bytes of
 * all. Memory: none. Source: the ring of MPI libraries (Thakur, Rabenseifner, Gropp, 2005).
 */
#include "baseline/host.h"

static sb_status_t run(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    uint32_t ranks = cluster->map.ranks, rank = cluster->rank;
    const sb_stream_t *part = parts->receive;
    sb_status_t status = SB_OK;

    if (!parts->in_place && parts->send->bytes > 0)
        sb_copy(part[rank].base, parts->send->base, parts->send->bytes);
    for (uint32_t k = 0; k + 1 < ranks && status == SB_OK; k++) {
        const sb_stream_t *sent = &part[(rank + ranks - k) % ranks];
        const sb_stream_t *taken = &part[(rank + ranks - k - 1) % ranks];
        status = sb_host_exchange(cluster, (rank + 1) % ranks, sent->base, sent->bytes,
                                  (rank + ranks - 1) % ranks, taken->base, taken->bytes);
    }
    return status;
}

#define DESCRIBED                                                                                  \
    .name = "host-ring", .doc = "Parts go round from each rank to its right neighbour.",           \
    .flat = true, .source = "the ring of MPI libraries (Thakur, Rabenseifner, Gropp 2005)",        \
    .parts = run

const sb_spanning_t sb_host_allgather_ring = {DESCRIBED, .collective = SB_ALLGATHER};
const sb_spanning_t sb_host_allgatherv_ring = {DESCRIBED, .collective = SB_ALLGATHERV};
