/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_HOST_H
#define SB_BASELINE_HOST_H

#include "cluster/operations.h"

/*
 * Collectives over the network as a host MPI has them that knows of no nodes: every rank sends and
 * receives for itself, by the host's classic algorithms. What the cluster's operations are compared
 * with, without the cost of a host's matching and packing. Data is in one piece.
 */

#define SB_HOST(collective, name, text) extern const sb_spanning_t sb_host_##collective##_##name;
#include "baseline/hosts.def"
#undef SB_HOST

size_t sb_host_count(void);
const sb_spanning_t *sb_host_at(size_t index);

/* Sends to one rank and receives from another at the same time, and waits for both. Of no bytes
 * nothing is sent or received, but by sb_host_tell. */
sb_status_t sb_host_exchange(sb_cluster_t *cluster, uint32_t to, const void *sent,
                             size_t sent_bytes, uint32_t from, void *received, size_t bytes);
sb_status_t sb_host_send(sb_cluster_t *cluster, uint32_t to, const void *data, size_t bytes);
sb_status_t sb_host_receive(sb_cluster_t *cluster, uint32_t from, void *data, size_t bytes);

/* An exchange of messages without bytes. */
sb_status_t sb_host_tell(sb_cluster_t *cluster, uint32_t to, uint32_t from);

/* into = into op incoming; `before`: incoming op into. */
sb_status_t sb_host_fold(const sb_operator_t *operation, char *into, const char *incoming,
                         size_t bytes, bool before);

/*
 * Where p is no power of two, the first ranks work in pairs of neighbours as one corner of a cube;
 * the second of a pair is idle in between.
 */
typedef struct sb_host_cube {
    uint32_t rounds;
    uint32_t pairs;
    uint32_t place; /* this rank's corner */
    bool paired;
    bool idle;
} sb_host_cube_t;

sb_host_cube_t sb_host_cube(const sb_cluster_t *cluster);
/* The rank that works at the corner. */
static inline uint32_t sb_host_corner(const sb_host_cube_t *cube, uint32_t place)
{
    return place < cube->pairs ? 2 * place : place + cube->pairs;
}

/* The rounds between the corners; `incoming` has room for a contribution. */
typedef sb_status_t sb_host_rounds_t(sb_cluster_t *cluster, const sb_reduction_t *reduction,
                                     const sb_host_cube_t *cube, char *incoming);

/* An allreduce by these rounds. */
sb_status_t sb_host_allreduce_in_cube(sb_cluster_t *cluster, const sb_reduction_t *reduction,
                                      sb_host_rounds_t *rounds);

#endif
