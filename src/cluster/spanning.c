/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/spanning.h"

/* `function`: which of its functions serves the collective. */
#define OWN(operation, function)                                                                   \
    {                                                                                              \
        .name = "cluster", .collective = (operation), function                                     \
    }

static const sb_spanning_t own[] = {
    OWN(SB_BARRIER, .barrier = sb_cluster_barrier),
    OWN(SB_BCAST, .bcast = sb_cluster_bcast),
    OWN(SB_REDUCE, .reduction = sb_cluster_reduce),
    OWN(SB_ALLREDUCE, .reduction = sb_cluster_allreduce),
    OWN(SB_REDUCE_SCATTER, .reduction = sb_cluster_reduce_scatter),
    OWN(SB_REDUCE_SCATTER_BLOCK, .reduction = sb_cluster_reduce_scatter),
    OWN(SB_SCAN, .reduction = sb_cluster_scan),
    OWN(SB_EXSCAN, .reduction = sb_cluster_exscan),
    OWN(SB_GATHER, .parts = sb_cluster_gather),
    OWN(SB_SCATTER, .parts = sb_cluster_scatter),
    OWN(SB_GATHERV, .parts = sb_cluster_gatherv),
    OWN(SB_SCATTERV, .parts = sb_cluster_scatterv),
    OWN(SB_ALLTOALL, .parts = sb_cluster_alltoall),
    OWN(SB_ALLTOALLV, .parts = sb_cluster_alltoallv),
    OWN(SB_ALLTOALLW, .parts = sb_cluster_alltoallv),
    OWN(SB_ALLGATHER, .parts = sb_cluster_allgather),
    OWN(SB_ALLGATHERV, .parts = sb_cluster_allgather),
};

const sb_spanning_t *sb_spanning_own(sb_collective_t collective)
{
    for (size_t i = 0; i < SB_COUNT_OF(own); i++) {
        if (own[i].collective == collective)
            return &own[i];
    }
    return NULL;
}
