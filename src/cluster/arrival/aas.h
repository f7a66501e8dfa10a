/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_ARRIVAL_AAS_H
#define SB_CLUSTER_ARRIVAL_AAS_H

#include "cluster/arrival/arrival.h"

/*
 * The published broadcasts for longer messages: a scatter of one block for each node down a
 * binomial tree of leaders, and an allgather of the blocks. What a step of the allgather brings is
 * broadcast on the node at once; the scatter hands nothing to the node, and the root's node gets
 * all after it. What a leader has already is not sent to the root again.
 */

typedef struct sb_aas {
    sb_cluster_t *cluster;
    const sb_stream_t *stream;
    uint32_t root;
    bool doubles; /* by recursive doubling, of a power of two; else round a ring */
    char *bytes;  /* the whole message, at a leader */
    sb_program_t *program;
    uint32_t wanted; /* steps of the allgather */
} sb_aas_t;

/* With fixed leaders, or elected ones, whom the root tells to all when it knows all. Of a number of
 * nodes that is no power of two nothing doubles. */
sb_status_t sb_aas(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream,
                   bool competitive, bool doubles);

#endif
