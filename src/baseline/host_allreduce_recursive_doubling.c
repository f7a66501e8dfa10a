/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce of a flat host by recursive doubling: in round k ranks whose numbers differ in digit k
 * exchange and combine all that they have. Cost: ceil(log2 p) (a + m (b + c)), and 2 messages more
 * where p is no power of two. Memory: a message. Source: Thakur, Rabenseifner, Gropp,
 * "Optimization of collective communication operations in MPICH", 2005.
 */
#include "baseline/host.h"

static sb_status_t rounds(sb_cluster_t *cluster, const sb_reduction_t *reduction,
                          const sb_host_cube_t *cube, char *incoming)
{
    sb_status_t status = SB_OK;

    for (uint32_t k = 0; k < cube->rounds && status == SB_OK; k++) {
        uint32_t partner = sb_host_corner(cube, cube->place ^ (1u << k));
        status = sb_host_exchange(cluster, partner, reduction->receive, reduction->bytes, partner,
                                  incoming, reduction->bytes);
        status = sb_first(status, sb_host_fold(reduction->operation, reduction->receive, incoming,
                                               reduction->bytes, partner < cluster->rank));
    }
    return status;
}

static sb_status_t run(sb_cluster_t *cluster, const sb_reduction_t *reduction)
{
    return sb_host_allreduce_in_cube(cluster, reduction, rounds);
}

const sb_spanning_t sb_host_allreduce_recursive_doubling = {
    .name = "host-recursive-doubling",
    .flat = true,
    .collective = SB_ALLREDUCE,
    .doc = "Ranks exchange and combine all that they have, pair by pair.",
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .reduction = run,
};
