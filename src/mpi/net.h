/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_NET_H
#define SB_MPI_NET_H

#include "machine/net.h"
#include "mpi/host.h"

/*
 * The network of a cluster (machine/net.h): the host's messages on a communicator of Sobor's own,
 * which the user's receives do not see. One thread at a time uses it, as MPI has it for calls on
 * one communicator, so it has no lock.
 */
typedef struct sb_wire {
    MPI_Comm comm;
    sb_net_request_t *unused;
    struct sb_wire_chunk *chunks; /* of requests; all are freed at the end */
} sb_wire_t;

/*
 * Makes a communicator of the members of the user's, without its attributes, whose callbacks are
 * the user's business. Collective. Returns whether this rank has it; errors are not raised.
 */
bool sb_wire_open(sb_wire_t *wire, MPI_Comm users);

/* Frees it. Nothing is under way, unless an error came before. */
void sb_wire_close(sb_wire_t *wire);

/* What became of a call of the host. */
sb_status_t sb_wire_status(int error);

/* The network of this rank among so many; `wire` must outlive it. */
sb_net_t sb_wire_net(sb_wire_t *wire, int rank, int ranks);

#endif
