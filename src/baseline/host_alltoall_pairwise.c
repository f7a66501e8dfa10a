/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall, Alltoallv and Alltoallw of a flat host: in round k every rank sends to the one k
 * further and receives from the one k before. Cost: (p - 1) a + m b for the m bytes of a rank.
 * Memory: none. Source: the pairwise exchange of MPI libraries (Thakur, Rabenseifner, Gropp, 2005).
 */
#include "baseline/host.h"

static sb_status_t run(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    uint32_t ranks = cluster->map.ranks, rank = cluster->rank;
    const sb_stream_t *own = &parts->send[rank];
    sb_status_t status = SB_OK;

    if (!parts->in_place && own->bytes > 0)
        sb_copy(parts->receive[rank].base, own->base, own->bytes);
    for (uint32_t k = 1; k < ranks && status == SB_OK; k++) {
        uint32_t to = (rank + k) % ranks, from = (rank + ranks - k) % ranks;
        const sb_stream_t *sent = &parts->send[to], *taken = &parts->receive[from];
        status =
            sb_host_exchange(cluster, to, sent->base, sent->bytes, from, taken->base, taken->bytes);
    }
    return status;
}

#define DESCRIBED                                                                                  \
    .name = "host-pairwise", .doc = "In round k every rank exchanges with those k away.",          \
    .flat = true,                                                                                  \
    .source = "the pairwise exchange of MPI libraries (Thakur, Rabenseifner, Gropp 2005)",         \
    .parts = run

const sb_spanning_t sb_host_alltoall_pairwise = {DESCRIBED, .collective = SB_ALLTOALL};
const sb_spanning_t sb_host_alltoallv_pairwise = {DESCRIBED, .collective = SB_ALLTOALLV};
const sb_spanning_t sb_host_alltoallw_pairwise = {DESCRIBED, .collective = SB_ALLTOALLW};
