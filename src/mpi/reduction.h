/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_REDUCTION_H
#define SB_MPI_REDUCTION_H

#include "mpi/comm.h"
#include "mpi/operator.h"
#include "mpi/parts.h"

/*
 * The calls that combine what all ranks give: reduce, allreduce, reduce_scatter(_block), scan and
 * exscan. Each function turns its arguments into an sb_reduction_call_t; one function for each
 * collective then says which of them count at this rank; the rest is the same for all.
 *
 * The choice of an algorithm follows from the packed bytes of a contribution and from whether the
 * operation is commutative, which all ranks know alike. As with parts, what goes to the host is
 * found out before anything is agreed.
 */
typedef struct sb_reduction_call sb_reduction_call_t;

typedef struct sb_reduction_rules {
    sb_collective_t collective;
    bool rooted;
    /*
     * Sets what follows `Set by the rules` below. Returns false if the host has to judge the
     * arguments.
     */
    bool (*judge)(sb_reduction_call_t *call, int rank, int size);
} sb_reduction_rules_t;

struct sb_reduction_call {
    const sb_reduction_rules_t *rules;
    MPI_Comm handle;
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
    /* Set when these are known: */
    sb_type_t description;
    sb_combination_t combination;
    size_t bytes; /* packed, of a contribution */
};

/*
 * For the rules. The rank contributes what its send buffer holds or, if that is MPI_IN_PLACE and
 * this is `allowed` here, its receive buffer; it receives if `receives`. Returns false if the
 * buffers cannot be right.
 */
bool sb_reduction_sides(sb_reduction_call_t *call, bool allowed, bool receives);

/* A call by these rules, with the arguments as all the functions name them, and what else there is.
 */
#define SB_REDUCTION_CALL(by, ...)                                                                 \
    {                                                                                              \
        .rules = &(by), .handle = handle, .out = out, .in = in, .type = type, .op = op,            \
        __VA_ARGS__                                                                                \
    }

/* Returns false if the call is the host's; else the call's result is in *result. */
bool sb_reduction_serve(sb_reduction_call_t *call, int *result);

/* The room in which a communicator's calls lay out their parts. NULL: no memory. */
sb_reduction_room_t *sb_reduction_room_new(int size);
void sb_reduction_room_free(sb_reduction_room_t *room); /* NULL is fine */

#endif
