/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/operations.h"

#define NAMED(which) .algorithm = {.name = "cluster", .collective = (which)}

const sb_cluster_operation_t sb_cluster_operations[SB_COLLECTIVES] = {
    [SB_BARRIER] = {NAMED(SB_BARRIER)},
    [SB_BCAST] = {NAMED(SB_BCAST)},
    [SB_SCATTER] = {NAMED(SB_SCATTER), .parts = sb_cluster_scatter},
    [SB_SCATTERV] = {NAMED(SB_SCATTERV), .parts = sb_cluster_scatterv},
    [SB_GATHER] = {NAMED(SB_GATHER), .parts = sb_cluster_gather},
    [SB_GATHERV] = {NAMED(SB_GATHERV), .parts = sb_cluster_gatherv},
    [SB_ALLGATHER] = {NAMED(SB_ALLGATHER), .parts = sb_cluster_allgather},
    [SB_ALLGATHERV] = {NAMED(SB_ALLGATHERV), .parts = sb_cluster_allgather},
    [SB_ALLTOALL] = {NAMED(SB_ALLTOALL), .parts = sb_cluster_alltoall},
    [SB_ALLTOALLV] = {NAMED(SB_ALLTOALLV), .parts = sb_cluster_alltoallv},
    [SB_ALLTOALLW] = {NAMED(SB_ALLTOALLW), .parts = sb_cluster_alltoallv},
    [SB_REDUCE] = {NAMED(SB_REDUCE), .reduction = sb_cluster_reduce},
    [SB_ALLREDUCE] = {NAMED(SB_ALLREDUCE), .reduction = sb_cluster_allreduce},
    [SB_REDUCE_SCATTER] = {NAMED(SB_REDUCE_SCATTER), .reduction = sb_cluster_reduce_scatter},
    [SB_REDUCE_SCATTER_BLOCK] = {NAMED(SB_REDUCE_SCATTER_BLOCK),
                                 .reduction = sb_cluster_reduce_scatter},
    [SB_SCAN] = {NAMED(SB_SCAN), .reduction = sb_cluster_scan},
    [SB_EXSCAN] = {NAMED(SB_EXSCAN), .reduction = sb_cluster_exscan},
};

const sb_algorithm_t *sb_cluster_operation_find(sb_collective_t collective)
{
    return &sb_cluster_operations[collective].algorithm;
}

sb_shape_t sb_cluster_shape(const sb_cluster_t *cluster)
{
    return (sb_shape_t){.ranks = cluster->map.ranks,
                        .prices = &cluster->settings.prices,
                        .over_nodes = sb_cluster_operation_find,
                        .scattered = !cluster->map.contiguous};
}
