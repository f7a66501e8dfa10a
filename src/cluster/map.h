/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_MAP_H
#define SB_CLUSTER_MAP_H

#include "base/compiler.h"
#include "base/status.h"

#include <stdbool.h>

/*
 * Which ranks of a communicator are together on a node. Nodes are numbered by their lowest rank, so
 * everybody numbers them alike; the ranks of a node are counted from the lowest up. Nodes may have
 * different numbers of ranks, in any order.
 */
typedef struct sb_map {
    uint32_t ranks;
    uint32_t nodes;
    bool contiguous;    /* the ranks of each node are one interval */
    uint32_t smallest;  /* ranks of the node with the fewest */
    uint32_t *node_of;  /* of each rank */
    uint32_t *local_of; /* of each rank: its number on its node */
    uint32_t *begin;    /* nodes + 1 places in member: where a node's ranks begin */
    uint32_t *member;   /* all ranks, node by node */
} sb_map_t;

/*
 * Makes the map of ranks on nodes of these names. `alone`, which may be NULL: ranks that are each a
 * node by themselves, whatever its name. SB_ERR_MEMORY: private memory is exhausted; the map is
 * empty, and may be freed.
 */
sb_status_t sb_map_make(sb_map_t *map, const uint64_t *name, const bool *alone, uint32_t ranks);
void sb_map_free(sb_map_t *map);

/* How many ranks the node has. */
static inline uint32_t sb_map_size(const sb_map_t *map, uint32_t node)
{
    return map->begin[node + 1] - map->begin[node];
}

/* The node's rank of that number. */
static inline uint32_t sb_map_rank(const sb_map_t *map, uint32_t node, uint32_t local)
{
    return map->member[map->begin[node] + local];
}

static inline uint32_t sb_map_last(const sb_map_t *map, uint32_t node)
{
    return map->member[map->begin[node + 1] - 1];
}

#endif
