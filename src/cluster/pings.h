/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_PINGS_H
#define SB_CLUSTER_PINGS_H

#include "cluster/cluster.h"

/* Messages of the set-up: each waits until it is gone, or has come. */
sb_status_t sb_tell(const sb_cluster_t *cluster, uint32_t rank, const void *data, size_t bytes);
sb_status_t sb_hear(const sb_cluster_t *cluster, uint32_t rank, void *data, size_t bytes);

/* Rounds of pings, and of each one the bytes. */
#define SB_PING_ROUNDS 5
enum { SB_PING_EMPTY, SB_PING_SHORT, SB_PING_LONG, SB_PINGS };

/* Nanoseconds of one ping: until it was sent, and until the answer came. */
typedef struct sb_ping {
    double sent;
    double back;
} sb_ping_t;

/* What messages cost by such times. */
sb_net_prices_t sb_prices_of_pings(const sb_ping_t ping[SB_PINGS][SB_PING_ROUNDS]);

/*
 * Some messages between the first ranks of the first two nodes, and what they cost by rank 0's
 * clock; the others do nothing, and leave *found as it is. The map is there, and nothing is under
 * way.
 */
sb_status_t sb_ping(const sb_cluster_t *cluster, sb_net_prices_t *found);

#endif
