/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_VECTOR_H
#define SB_MPI_VECTOR_H

#include "mpi/comm.h"
#include "mpi/sides.h"

/*
 * The calls that move blocks of data between ranks: scatter, gather, allgather, alltoall and their
 * variants. Each function writes its arguments into an sb_vector_call_t; the rest is the same for
 * all.
 *
 * What goes to the host is found out before any array is read, but for wrong arguments. These go
 * to the host too, so that it raises its own error. That the buffers of a call overlap, which MPI
 * forbids, is noticed as far as the host would notice it (sb_alias_is_error), and no further: a
 * rank that asked the host about it alone would hang where the host does not check.
 */

/* Whether what is sent counts at this rank: of a scatter it does at the root alone. */
static inline bool sb_vector_sends(const sb_vector_call_t *call, int rank)
{
    return !call->rooted || !call->send.all || rank == call->root;
}

/*
 * Returns false if the call is the host's; else the call's result is in *result. Collective at the
 * first call that the communicator's team serves.
 */
bool sb_vector_serve(sb_comm_t *comm, sb_vector_call_t *call, int *result);

#endif
