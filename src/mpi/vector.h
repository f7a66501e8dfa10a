/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_VECTOR_H
#define SB_MPI_VECTOR_H

#include "mpi/comm.h"
#include "mpi/numbers.h"

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

/* How the blocks of a side are given: see collectives.def. */
typedef enum sb_blocks_kind {
    SB_BLOCKS_EQUAL,   /* each block behind the one before */
    SB_BLOCKS_VARYING, /* displacements by the type's extent */
    SB_BLOCKS_TYPED,   /* displacements in bytes */
} sb_blocks_kind_t;

/* What a rank sends or receives, as it gave it. */
typedef struct sb_side {
    sb_blocks_kind_t kind;
    bool all; /* a block for each rank; of a rooted call, at its root */
    void *buffer;
    MPI_Datatype type;
    const MPI_Datatype *types;
    int64_t count;
    sb_numbers_t counts;
    sb_numbers_t places;
    int blocks; /* that count at this rank, once it is judged; 0: the arguments are insignificant */
} sb_side_t;

typedef struct sb_vector_call {
    sb_collective_t collective;
    bool rooted;
    int root; /* 0 where there is none */
    sb_side_t send;
    sb_side_t receive;
    /* Once it is judged: */
    bool in_place;
    size_t known; /* packed bytes of one block, as all members know it; 0: they do not know it */
} sb_vector_call_t;

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
