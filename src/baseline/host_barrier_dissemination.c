/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier of a flat host: in round k every rank tells the one 2^k further and hears from the one
 * 2^k before. Cost: ceil(log2 p) messages one after another. Memory: none. Source: Hensgen, Finkel,
 * Manber, "Two algorithms for barrier synchronization", 1988; "bruck" in Open MPI.
 */
#include "baseline/host.h"

static sb_status_t run(sb_cluster_t *cluster)
{
    uint32_t ranks = cluster->map.ranks, rank = cluster->rank;
    sb_status_t status = SB_OK;

    for (uint32_t distance = 1; distance < ranks && status == SB_OK; distance *= 2)
        status =
            sb_host_tell(cluster, (rank + distance) % ranks, (rank + ranks - distance) % ranks);
    return status;
}

const sb_spanning_t sb_host_barrier_dissemination = {
    .name = "host-dissemination",
    .flat = true,
    .collective = SB_BARRIER,
    .doc = "In round k every rank tells the one 2^k further.",
    .source = "Hensgen, Finkel, Manber 1988",
    .barrier = run,
};
