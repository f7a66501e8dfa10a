/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What other heads of nodes could bring at best to the operations of the cluster: the same code,
 * but an oracle tells all beforehand who will be the first of each node, or the last, and that rank
 * speaks for it. There is no election and no word about it, so what these save is more than any
 * real competition of heads can. Cost: as the operation. Memory: none. Source: own.
 */
#include "baseline/heads_ideal.h"

#include "baseline/bcast_ideal.h"
#include "cluster/operations.h"

#include <stdlib.h>
#include <string.h>

/* The cluster's heads in the calls that follow. */
static void choose(sb_cluster_t *cluster, uint32_t root, bool last)
{
    uint32_t *heads = calloc(cluster->map.nodes, sizeof *heads);

    for (uint32_t node = 0; heads != NULL && node < cluster->map.nodes; node++)
        heads[node] = sb_ideal_head(cluster, root, node, last);
    cluster->heads = heads;
}

static void forget(sb_cluster_t *cluster)
{
    free((void *)(uintptr_t)cluster->heads);
    cluster->heads = NULL;
}

static sb_status_t move(sb_cluster_t *cluster, const sb_parts_t *parts, sb_collective_t collective,
                        bool last)
{
    choose(cluster, parts->root, last);
    sb_status_t status = sb_cluster_operations[collective].spanning.parts(cluster, parts);
    forget(cluster);
    return status;
}

static sb_status_t reduce(sb_cluster_t *cluster, const sb_reduction_t *reduction,
                          sb_collective_t collective, bool last)
{
    choose(cluster, collective == SB_REDUCE ? reduction->root : sb_map_rank(&cluster->map, 0, 0),
           last);
    sb_status_t status = sb_cluster_operations[collective].spanning.reduction(cluster, reduction);
    forget(cluster);
    return status;
}

/* X(collective, name of its function, argument, what calls it) */
#define EACH_OPERATION(X)                                                                          \
    X(SB_SCATTER, scatter, sb_parts_t, parts, move)                                                \
    X(SB_SCATTERV, scatterv, sb_parts_t, parts, move)                                              \
    X(SB_GATHER, gather, sb_parts_t, parts, move)                                                  \
    X(SB_GATHERV, gatherv, sb_parts_t, parts, move)                                                \
    X(SB_REDUCE, reduce, sb_reduction_t, reduction, reduce)                                        \
    X(SB_ALLREDUCE, allreduce, sb_reduction_t, reduction, reduce)

#define FUNCTIONS(which, word, type, member, via)                                                  \
    static sb_status_t word##_first(sb_cluster_t *cluster, const type *call)                       \
    {                                                                                              \
        return via(cluster, call, which, false);                                                   \
    }                                                                                              \
    static sb_status_t word##_last(sb_cluster_t *cluster, const type *call)                        \
    {                                                                                              \
        return via(cluster, call, which, true);                                                    \
    }
EACH_OPERATION(FUNCTIONS)
#undef FUNCTIONS

static const sb_spanning_t ideals[] = {
#define ROWS(which, word, type, member, via)                                                       \
    {.name = "first-ideal", .collective = (which), .member = word##_first},                        \
        {.name = "last-ideal", .collective = (which), .member = word##_last},
    EACH_OPERATION(ROWS)
#undef ROWS
};

const sb_spanning_t *sb_heads_ideal(sb_collective_t collective, const char *name)
{
    for (size_t i = 0; i < SB_COUNT_OF(ideals); i++) {
        if (ideals[i].collective == collective && strcmp(ideals[i].name, name) == 0)
            return &ideals[i];
    }
    return NULL;
}
