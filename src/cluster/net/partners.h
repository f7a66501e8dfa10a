/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_NET_PARTNERS_H
#define SB_CLUSTER_NET_PARTNERS_H

#include <stdint.h>

/*
 * All nodes have messages for all others, which are dealt to the lanes of each: some nodes, side by
 * side, to each lane. Which rank that is differs from node to node, by the node's own place, so
 * that those that are the first to send do not all send to the same nodes.
 */
typedef struct sb_partners {
    uint32_t each; /* nodes that a lane has to do with, its own among them; the last has the rest */
    uint32_t lanes; /* of each node */
} sb_partners_t;

static inline sb_partners_t sb_partners(uint32_t nodes, uint32_t lanes_most)
{
    uint32_t each = (nodes + lanes_most - 1) / lanes_most;

    return (sb_partners_t){each, (nodes + each - 1) / each};
}

/* The number of the rank on node `self` that has to do with the other. */
static inline uint32_t sb_partners_rank(const sb_partners_t *partners, uint32_t self,
                                        uint32_t other)
{
    return (other / partners->each + partners->lanes - self / partners->each) % partners->lanes;
}

/* Of a rank with that number on node `self`: which nodes it has to do with. */
static inline uint32_t sb_partners_lane(const sb_partners_t *partners, uint32_t self,
                                        uint32_t local)
{
    return (self / partners->each + local) % partners->lanes;
}

#endif
