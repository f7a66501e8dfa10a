/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_REDUCE_H
#define SB_CLUSTER_REDUCE_H

#include "cluster/cluster.h"
#include "coll/reduction/reduction.h"

/* Whether the order of ranks can be kept, where the operator needs that. */
static inline bool sb_reduction_is_served(const sb_cluster_t *cluster,
                                          const sb_reduction_t *reduction)
{
    return reduction->operation->commutative || cluster->map.contiguous;
}

/* An allreduce, of which each rank keeps some bytes, in `receive`. The call has begun. */
sb_status_t sb_reduce_and_keep(sb_cluster_t *cluster, const sb_reduction_t *reduction,
                               sb_range_t kept);

#endif
