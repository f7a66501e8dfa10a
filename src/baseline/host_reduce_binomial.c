/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce of a flat host: a binomial tree of ranks towards the root, the whole message at a time.
 * Cost: ceil(log2 p) (a + m (b + c)). Memory: two messages. Precondition: a commutative operator.
 * Source: the binomial tree of MPI libraries (Thakur, Rabenseifner, Gropp, 2005).
 */
#include "baseline/host.h"

#include <stdlib.h>

static sb_status_t climb(sb_cluster_t *cluster, const sb_reduction_t *reduction, char *sum,
                         char *incoming)
{
    uint32_t ranks = cluster->map.ranks, root = reduction->root;
    uint32_t place = (cluster->rank + ranks - root) % ranks;
    sb_status_t status = SB_OK;

    for (uint32_t distance = 1; distance < ranks && status == SB_OK; distance *= 2) {
        if ((place & distance) != 0)
            return sb_host_send(cluster, (place - distance + root) % ranks, sum, reduction->bytes);
        if (place + distance >= ranks)
            continue;
        status =
            sb_host_receive(cluster, (place + distance + root) % ranks, incoming, reduction->bytes);
        status = sb_first(
            status, sb_host_fold(reduction->operation, sum, incoming, reduction->bytes, false));
    }
    return status;
}

static sb_status_t run(sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    char *memory = malloc(2 * reduction->bytes + 1), *sum = memory + reduction->bytes;

    if (memory == NULL)
        return SB_ERR_MEMORY;
    if (cluster->rank == reduction->root)
        sum = reduction->receive;
    if (sum != reduction->send)
        sb_copy(sum, reduction->send, reduction->bytes);
    sb_status_t status = climb(cluster, reduction, sum, memory);
    free(memory);
    return status;
}

const sb_spanning_t sb_host_reduce_binomial = {
    .name = "host-binomial",
    .flat = true,
    .collective = SB_REDUCE,
    .doc = "A binomial tree of ranks, the whole message at a time.",
    .source = "the binomial tree of MPI libraries (Thakur, Rabenseifner, Gropp 2005)",
    .reduction = run,
};
