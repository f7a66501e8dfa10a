/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_ARRIVAL_CAST_H
#define SB_CLUSTER_ARRIVAL_CAST_H

#include "cluster/arrival/transit.h"

/*
 * A broadcast that the root directs. Each leader asks it once and hears, until a word is the last,
 * from whom the message comes and whom to send it on to. Of a message in segments each serves one
 * other, and whoever is at the end stays until there is a next or nobody is missing. Of a whole
 * message a leader that has nothing left to do says that it is free, and may leave or gets somebody
 * else to serve; one that is told to leave unasked says that it has heard so. So the root knows
 * when no word is under way, and no rank leaves that somebody will be sent to.
 */

struct sb_cast;

/* At the root: the node's leader has asked, or come back. */
typedef void sb_asked_t(struct sb_cast *cast, uint32_t node);

typedef struct sb_cast {
    sb_transit_t transit;
    sb_cluster_t *cluster;
    sb_asked_t *asked;
    uint32_t root;
    uint32_t ahead; /* as given */
    sb_net_request_t *hearing;
    uint32_t missing;   /* at the root: nodes that have not asked */
    uint32_t leaving;   /* and nodes before which all were told to leave, once all have asked */
    uint32_t unsettled; /* and guests that settle */
    bool open;          /* elsewhere: there may be more to serve */
    bool over;          /* there is not */
    uint32_t freed;     /* 1 + those served when it last said that it was free */
} sb_cast_t;

/* The whole call: an election, the transit, and the node's broadcast. */
sb_status_t sb_cast(sb_cluster_t *cluster, uint32_t root, const sb_stream_t *stream, size_t segment,
                    uint32_t ahead, sb_asked_t *asked);

/* At the root: tells `node` that it gets the message from `from`, and whether that is all. */
void sb_cast_from(sb_cast_t *cast, uint32_t node, uint32_t from, bool last);
/* The leader of `node`, which may be this rank's, serves that of `to`. */
void sb_cast_serve(sb_cast_t *cast, uint32_t node, uint32_t to, bool last);

/* The policy of cp-tree and cp-chain: each guest is served by whoever can do it soonest. */
sb_asked_t sb_cast_soonest;

#endif
