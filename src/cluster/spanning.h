/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_SPANNING_H
#define SB_CLUSTER_SPANNING_H

#include "cluster/cluster.h"

/*
 * What serves a collective whose ranks are on several nodes, as data: the operations of this
 * folder (operations.h), and flat algorithms that they are compared with (baseline/host.h).
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

#endif
