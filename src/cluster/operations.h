/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_OPERATIONS_H
#define SB_CLUSTER_OPERATIONS_H

#include "cluster/cluster.h"

/*
 * What serves a collective whose ranks are on several nodes, as data: the operations of this
 * folder, and flat algorithms that they are compared with (baseline/host.h).
 */
typedef struct sb_spanning {
    const char *name;
    sb_collective_t collective;
    const char *doc;
    const char *source; /* where it is from */
    bool flat;          /* every rank is alone on its node */
    /* One of these. */
    sb_status_t (*barrier)(sb_cluster_t *cluster);
    sb_status_t (*bcast)(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream);
    sb_status_t (*parts)(sb_cluster_t *cluster, const sb_parts_t *parts);
    sb_status_t (*reduction)(sb_cluster_t *cluster, const sb_reduction_t *reduction);
} sb_spanning_t;

/* What of a cluster serves each collective. */
typedef struct sb_cluster_operation {
    sb_algorithm_t algorithm; /* by which it is known to choices and reports; it has no functions */
    sb_spanning_t spanning;
} sb_cluster_operation_t;

extern const sb_cluster_operation_t sb_cluster_operations[SB_COLLECTIVES];

/* What serves a choice made for a cluster. */
static inline const sb_spanning_t *sb_cluster_operation_of(const sb_algorithm_t *algorithm)
{
    return &sb_cluster_operations[algorithm->collective].spanning;
}

/* The algorithm of the collective. */
const sb_algorithm_t *sb_cluster_operation_find(sb_collective_t collective);

/* How ranks on several nodes are served. */
extern const sb_over_nodes_t sb_cluster_over_nodes;

/* The shape of a cluster, for a plan of its calls. */
sb_shape_t sb_cluster_shape(const sb_cluster_t *cluster);

#endif
