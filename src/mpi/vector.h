/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_VECTOR_H
#define SB_MPI_VECTOR_H

#include "mpi/comm.h"
#include "mpi/numbers.h"

/*
 * The calls that move blocks of data between ranks: scatter, gather, allgather, alltoall and their
 * variants. Each function turns its arguments into an sb_vector_call_t; one function for each
 * collective then says which of them count at this rank, and what the choice of an algorithm
 * follows from (sb_vector_rules_t); the rest is the same for all.
 *
 * What goes to the host is found out before any array is read, but for wrong arguments. These go
 * to the host too, so that it raises its own error. That the buffers of a call overlap, which MPI
 * forbids, is noticed as far as the host would notice it (alias.h), and no further: a rank that
 * asked the host about it alone would hang where the host does not check.
 */

/* How the blocks of a side are given. */
typedef enum sb_blocks_kind {
    SB_BLOCKS_EQUAL,   /* one count; each block behind the one before */
    SB_BLOCKS_VARYING, /* counts; displacements by the type's extent */
    SB_BLOCKS_TYPED,   /* counts, types; displacements in bytes */
} sb_blocks_kind_t;

/* What a rank sends or receives, as it gave it. */
typedef struct sb_side {
    sb_blocks_kind_t kind;
    void *buffer;
    MPI_Datatype type;
    const MPI_Datatype *types;
    int64_t count;
    sb_numbers_t counts;
    sb_numbers_t places;
    int blocks; /* set by the rules: that count at this rank; 0: the arguments are insignificant */
} sb_side_t;

#define SB_BUFFER(address) ((void *)(uintptr_t)(address))
#define SB_EQUAL_BLOCKS(at, n, of)                                                                 \
    {                                                                                              \
        .kind = SB_BLOCKS_EQUAL, .buffer = SB_BUFFER(at), .type = (of), .count = (n)               \
    }
#define SB_VARYING_BLOCKS(at, n, where, of)                                                        \
    {                                                                                              \
        .kind = SB_BLOCKS_VARYING, .buffer = SB_BUFFER(at), .type = (of), .counts = (n),           \
        .places = (where)                                                                          \
    }
#define SB_TYPED_BLOCKS(at, n, where, of)                                                          \
    {                                                                                              \
        .kind = SB_BLOCKS_TYPED, .buffer = SB_BUFFER(at), .types = (of), .counts = (n),            \
        .places = (where)                                                                          \
    }

typedef struct sb_vector_call sb_vector_call_t;

typedef struct sb_vector_rules {
    sb_collective_t collective;
    bool rooted;
    bool regular; /* all blocks are of one size, which all members know */
    bool counted; /* all members are given the sizes of all blocks that each receives */
    /*
     * Sets which blocks of each side count at this rank, whether MPI_IN_PLACE keeps its own block
     * where it is, and `known`. Returns false if the host has to judge the arguments. Reads no
     * array.
     */
    bool (*judge)(sb_vector_call_t *call, const sb_comm_t *comm);
} sb_vector_rules_t;

struct sb_vector_call {
    const sb_vector_rules_t *rules;
    int root;
    sb_side_t send;
    sb_side_t receive;
    /* Set by the rules: */
    bool in_place;
    size_t known; /* packed bytes of one block, as all members know it; 0: they do not know it */
};

/*
 * Returns false if the call is the host's; else the call's result is in *result. Collective at the
 * first call that the communicator's team serves.
 */
bool sb_vector_serve(sb_comm_t *comm, sb_vector_call_t *call, int *result);

#endif
