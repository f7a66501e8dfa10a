/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather of a flat host by Bruck's algorithm: in round k every rank sends all parts that it has
 * to the one 2^k before, and in the end turns them to where they belong. Cost: ceil(log2 p) a +
 * (p - 1) / p m b for m bytes of all. Memory: those. Source: Bruck, Ho, Kipnis, Upfal,
 * Weathersby, "Efficient algorithms for all-to-all communications in multiport message-passing
 * systems", 1997.
 */
#include "baseline/host.h"

#include <stdlib.h>

static sb_status_t run(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    uint32_t ranks = cluster->map.ranks, rank = cluster->rank;
    size_t part = parts->receive[0].bytes;
    char *held = malloc(ranks * part + 1);
    sb_status_t status = held == NULL ? SB_ERR_MEMORY : SB_OK;

    if (status == SB_OK && part > 0)
        sb_copy(held, parts->send->base, part);
    for (uint32_t distance = 1; distance < ranks && status == SB_OK; distance *= 2) {
        size_t bytes = sb_min(distance, ranks - distance) * part;
        status = sb_host_exchange(cluster, (rank + ranks - distance) % ranks, held, bytes,
                                  (rank + distance) % ranks, held + distance * part, bytes);
    }
    for (uint32_t i = 0; i < ranks && status == SB_OK && part > 0; i++)
        sb_copy(parts->receive[(rank + i) % ranks].base, held + i * part, part);
    free(held);
    return status;
}

const sb_spanning_t sb_host_allgather_bruck = {
    .name = "host-bruck",
    .flat = true,
    .collective = SB_ALLGATHER,
    .doc = "In round k every rank sends all parts that it has to the one 2^k before.",
    .source = "Bruck, Ho, Kipnis, Upfal, Weathersby 1997",
    .parts = run,
};
