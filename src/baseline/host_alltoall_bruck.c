/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall of a flat host by Bruck's algorithm, of parts that are alike: parts stand in the order
 * of how far they have to go; in round k those whose distance has digit k go 2^k on, packed into
 * one message. Cost: ceil(log2 p) (a + m / 2 b) for the m bytes of a rank. Memory: two times those.
 * Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications
 * in multiport message-passing systems", 1997.
 */
#include "baseline/host.h"

#include <stdlib.h>

/* Packs the parts whose distance has the digit, or puts them back. Returns their bytes. */
static size_t pack(char *packed, char *held, uint32_t ranks, uint32_t digit, size_t part, bool back)
{
    size_t bytes = 0;

    for (uint32_t distance = 1; distance < ranks; distance++) {
        if ((distance & digit) == 0)
            continue;
        char *at = held + distance * part;
        sb_copy(back ? at : packed + bytes, back ? packed + bytes : at, part);
        bytes += part;
    }
    return bytes;
}

static sb_status_t rounds(sb_cluster_t *cluster, char *held, char *packed, size_t part)
{
    uint32_t ranks = cluster->map.ranks, rank = cluster->rank;
    char *incoming = packed + ranks * part;
    sb_status_t status = SB_OK;

    for (uint32_t digit = 1; digit < ranks && status == SB_OK; digit *= 2) {
        size_t bytes = pack(packed, held, ranks, digit, part, false);
        status = sb_host_exchange(cluster, (rank + digit) % ranks, packed, bytes,
                                  (rank + ranks - digit) % ranks, incoming, bytes);
        pack(incoming, held, ranks, digit, part, true);
    }
    return status;
}

static sb_status_t run(sb_cluster_t *cluster, const sb_parts_t *parts)
{
    uint32_t ranks = cluster->map.ranks, rank = cluster->rank;
    size_t part = parts->receive[0].bytes;
    char *held = malloc(3 * ranks * part + 1);

    if (held == NULL)
        return SB_ERR_MEMORY;
    for (uint32_t i = 0; i < ranks && part > 0; i++)
        sb_copy(held + i * part, parts->send[(rank + i) % ranks].base, part);
    sb_status_t status = part == 0 ? SB_OK : rounds(cluster, held, held + ranks * part, part);
    for (uint32_t i = 0; i < ranks && status == SB_OK && part > 0; i++)
        sb_copy(parts->receive[(rank + ranks - i) % ranks].base, held + i * part, part);
    free(held);
    return status;
}

const sb_spanning_t sb_host_alltoall_bruck = {
    .name = "host-bruck",
    .flat = true,
    .collective = SB_ALLTOALL,
    .doc = "In round k parts whose way has digit k go 2^k on, in one message.",
    .source = "Bruck, Ho, Kipnis, Upfal, Weathersby 1997",
    .parts = run,
};
