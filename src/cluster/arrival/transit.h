/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_ARRIVAL_TRANSIT_H
#define SB_CLUSTER_ARRIVAL_TRANSIT_H

#include "cluster/arrival/arrival.h"

/*
 * The message as it passes a leader: it comes from one rank, in segments, and goes to others, one
 * after the other, each segment as soon as it is here. Whom it comes from and goes to may become
 * known while it flows. The node's broadcast reads what has come. Bytes that are not in one piece
 * at the user are put into one, since who is to get them may come last of all.
 */

#define SB_TRANSIT_MOST 8 /* segments under way, in each direction */

typedef struct sb_transit {
    sb_cluster_t *cluster;
    const sb_stream_t *stream;
    char *bytes; /* the whole message */
    size_t segment;
    size_t segments;
    uint32_t ahead;  /* segments under way to one child and the next, at most SB_TRANSIT_MOST */
    bool met;        /* what is under way is what no receiver has yet, wherever it is */
    uint32_t source; /* SB_NET_ANY: not known yet; this rank: the message is here */
    size_t begun;    /* segments whose receives were, */
    size_t arrived;  /* and that are here */
    size_t wanted;
    uint32_t children; /* in doorway->child, known so far */
    uint64_t sends;    /* begun: of all segments to the first child, then to the second, */
    uint64_t sent;     /* and so on; and done */
    sb_net_request_t *in[SB_TRANSIT_MOST];
    sb_net_request_t *out[SB_TRANSIT_MOST];
} sb_transit_t;

/* `segment`: bytes of one. SB_ERR_MEMORY: nothing follows. */
sb_status_t sb_transit_open(sb_transit_t *transit, sb_cluster_t *cluster, uint32_t root,
                            const sb_stream_t *stream, size_t segment, uint32_t ahead);

/* Goes on as far as it can now. */
void sb_transit_turn(sb_transit_t *transit);

/* All is here, and all children known so far have it. */
static inline bool sb_transit_is_done(const sb_transit_t *transit)
{
    return transit->arrived == transit->segments &&
           transit->sent == (uint64_t)transit->children * transit->segments;
}

/* All is here, and its last send was begun. */
static inline bool sb_transit_is_under_way(const sb_transit_t *transit)
{
    return transit->arrived == transit->segments &&
           transit->sends == (uint64_t)transit->children * transit->segments;
}

/* The node's broadcast of what comes, by this rank; it is turned by the cluster's refill. */
sb_status_t sb_transit_on_node(sb_transit_t *transit);

/* Ends the call. Returns as sb_call_ends. */
sb_status_t sb_transit_close(sb_transit_t *transit);

#endif
