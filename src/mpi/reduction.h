/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_REDUCTION_H
#define SB_MPI_REDUCTION_H

#include "mpi/comm.h"
#include "mpi/numbers.h"
#include "mpi/operator.h"

/*
 * The calls that combine what all ranks give: reduce, allreduce, reduce_scatter(_block), scan and
 * exscan. Each function turns its arguments into an sb_reduce_call_t; one function for each
 * collective then says which of them count at this rank; the rest is the same for all.
 *
 * The choice of an algorithm follows from the packed bytes of a contribution and from whether the
 * operation is commutative, which all ranks know alike. As with blocks, what goes to the host is
 * found out before anything is agreed.
 */
typedef struct sb_reduce_call sb_reduce_call_t;

typedef struct sb_reduce_rules {
    sb_collective_t collective;
    bool rooted;
    bool dealt; /* each rank receives a part of the result */
    /*
     * Sets what follows `Set by the rules` below. Returns false if the host has to judge the
     * arguments.
     */
    bool (*judge)(sb_reduce_call_t *call, const sb_comm_t *comm);
} sb_reduce_rules_t;

struct sb_reduce_call {
    const sb_reduce_rules_t *rules;
    const void *out;
    void *in;
    int64_t count;
    sb_numbers_t counts; /* reduce_scatter: instead of the count */
    MPI_Datatype type;
    MPI_Op op;
    int root;
    /* Set by the rules: */
    void *send;       /* the contribution */
    void *receive;    /* the result, if this rank receives one */
    int64_t elements; /* of a contribution */
    int64_t received; /* elements of this rank's result; 0: none */
};

/* Returns false if the call is the host's; else the call's result is in *result. Collective at the
 * first call that the communicator's team serves. */
bool sb_reduction_serve(sb_comm_t *comm, sb_reduce_call_t *call, int *result);

#endif
