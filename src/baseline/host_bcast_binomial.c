/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast of a flat host: a binomial tree of ranks; every rank receives the whole message and
 * sends it to its children, the one with the largest tree first. Cost: ceil(log2 p) (a + m b).
 * Memory: none. Source: the binomial tree of MPI libraries (Thakur, Rabenseifner, Gropp, 2005).
 */
#include "baseline/host.h"

static sb_status_t run(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream)
{
    uint32_t ranks = cluster->map.ranks, place = (cluster->rank + ranks - root) % ranks;
    uint32_t lowest = place == 0 ? 1u << sb_rounds(ranks) : place & (~place + 1);
    sb_status_t status = SB_OK;

    if (place != 0)
        status =
            sb_host_receive(cluster, (place - lowest + root) % ranks, stream->base, stream->bytes);
    for (uint32_t distance = lowest / 2; distance > 0 && status == SB_OK; distance /= 2) {
        if (place + distance < ranks)
            status = sb_host_send(cluster, (place + distance + root) % ranks, stream->base,
                                  stream->bytes);
    }
    return status;
}

const sb_spanning_t sb_host_bcast_binomial = {
    .name = "host-binomial",
    .flat = true,
    .collective = SB_BCAST,
    .doc = "A binomial tree of ranks, the whole message at a time.",
    .source = "the binomial tree of MPI libraries (Thakur, Rabenseifner, Gropp 2005)",
    .bcast = run,
};
