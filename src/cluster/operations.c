/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/operations.h"

#include "cluster/expected.h"
#include "cluster/packed.h"

/* `function`: which of its functions serves the collective. */
#define SERVED(which, function)                                                                    \
    [which] = {.algorithm = {.name = "cluster", .collective = (which)},                            \
               .spanning = {.name = "cluster", .collective = (which), function}}

const sb_cluster_operation_t sb_cluster_operations[SB_COLLECTIVES] = {
    SERVED(SB_BARRIER, .barrier = sb_cluster_barrier),
    SERVED(SB_BCAST, .bcast = sb_cluster_bcast),
    SERVED(SB_SCATTER, .parts = sb_cluster_scatter),
    SERVED(SB_SCATTERV, .parts = sb_cluster_scatterv),
    SERVED(SB_GATHER, .parts = sb_cluster_gather),
    SERVED(SB_GATHERV, .parts = sb_cluster_gatherv),
    SERVED(SB_ALLGATHER, .parts = sb_cluster_allgather),
    SERVED(SB_ALLGATHERV, .parts = sb_cluster_allgatherv),
    SERVED(SB_ALLTOALL, .parts = sb_cluster_alltoall),
    SERVED(SB_ALLTOALLV, .parts = sb_cluster_alltoallv),
    SERVED(SB_ALLTOALLW, .parts = sb_cluster_alltoallv),
    SERVED(SB_REDUCE, .reduction = sb_cluster_reduce),
    SERVED(SB_ALLREDUCE, .reduction = sb_cluster_allreduce),
    SERVED(SB_REDUCE_SCATTER, .reduction = sb_cluster_reduce_scatter),
    SERVED(SB_REDUCE_SCATTER_BLOCK, .reduction = sb_cluster_reduce_scatter),
    SERVED(SB_SCAN, .reduction = sb_cluster_scan),
    SERVED(SB_EXSCAN, .reduction = sb_cluster_exscan),
};

const sb_algorithm_t *sb_cluster_operation_find(sb_collective_t collective)
{
    return &sb_cluster_operations[collective].algorithm;
}

static double cost(const sb_shape_t *shape, sb_collective_t collective, size_t bytes)
{
    return sb_schedule_expected(shape, collective, bytes).cost;
}

static double host_cost(const sb_shape_t *shape, sb_collective_t collective, size_t bytes)
{
    return sb_host_expected(shape, collective, bytes).cost;
}

const sb_over_nodes_t sb_cluster_over_nodes = {sb_cluster_operation_find, cost, host_cost,
                                               SB_PACKED_RANKS};

sb_shape_t sb_cluster_shape(const sb_cluster_t *cluster)
{
    return (sb_shape_t){.ranks = cluster->map.ranks,
                        .prices = &cluster->settings.prices,
                        .over_nodes = &sb_cluster_over_nodes,
                        .nodes = cluster->map.nodes,
                        .network = &cluster->prices,
                        .oversubscribed = cluster->crowded,
                        .scattered = !cluster->map.contiguous};
}
