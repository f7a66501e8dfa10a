/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_REDUCTION_H
#define SB_MPI_REDUCTION_H

#include "mpi/comm.h"
#include "mpi/numbers.h"
#include "mpi/operator.h"

/*
 * The calls that combine what all ranks give: reduce, allreduce, reduce_scatter(_block), scan and
 * exscan. Each function writes its arguments into an sb_reduce_call_t; the rest is the same for
 * all.
 *
 * The choice of an algorithm follows from the packed bytes of a contribution and from whether the
 * operation is commutative, which all ranks know alike. As with blocks, what goes to the host is
 * found out before anything is agreed.
 */
typedef struct sb_reduce_call {
    sb_collective_t collective;
    bool rooted;
    int root; /* 0 where there is none */
    const void *out;
    void *in;
    int64_t count;
    sb_numbers_t counts; /* reduce_scatter: instead of the count */
    MPI_Datatype type;
    MPI_Op op;
    /* Once it is judged: */
    bool dealt;       /* each rank receives a part of the result */
    void *send;       /* the contribution */
    void *receive;    /* the result, if this rank receives one */
    int64_t elements; /* of a contribution */
    int64_t received; /* elements of this rank's result; 0: none */
} sb_reduce_call_t;

/* Returns false if the call is the host's; else the call's result is in *result. Collective at the
 * first call that the communicator's team serves. */
bool sb_reduction_serve(sb_comm_t *comm, sb_reduce_call_t *call, int *result);

#endif
