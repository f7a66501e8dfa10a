/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_LANES_H
#define SB_CLUSTER_LANES_H

#include "cluster/post.h"

/* Where all parts are alike: up to so many bytes they go by lanes, in several rounds if need be. */
#define SB_SHORT_EXCHANGED ((size_t)256)

/*
 * In an Alltoall all ranks of a node speak for it, each with some of the other nodes: rank j of n
 * is the lane to and from the nodes j + 1, j + 1 + n, j + 1 + 2 n, ... places away. So two nodes
 * exchange one letter each way, and all ranks of a node work at the same time.
 */

typedef struct sb_lanes {
    sb_cluster_t *cluster;
    const sb_parts_t *parts;
    bool told;    /* the sizes of parts go before them: they differ, or are not known to all */
    size_t from;  /* of each part the bytes from here on, */
    size_t piece; /* at most so many; or, where sizes are told, all of a part that has no more */
    uint32_t distance[SB_DIRECTIONS]; /* of the next letter */
    char *place[SB_DIRECTIONS];       /* and where it lies */
} sb_lanes_t;

/* How many bytes of each part the lanes have room for at once; 0: the map does not suit. */
size_t sb_lanes_most(const sb_map_t *map, bool told);

/* Whatever the parts of other nodes are, they go. `meanwhile`: what the node does while letters
 * are under way; NULL: nothing. Returns the cluster's failure. */
sb_status_t sb_lanes_exchange(sb_lanes_t *lanes, sb_status_t (*meanwhile)(void *context),
                              void *context);

/* Items that a rank needs as a lane, beside one for each rank of the communicator. */
size_t sb_lane_items(const sb_map_t *map, uint32_t rank);

#endif
