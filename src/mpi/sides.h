/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_SIDES_H
#define SB_MPI_SIDES_H

#include "base/collectives.h"
#include "mpi/numbers.h"

/* What the arguments of a call that moves blocks become: two sides, and what holds for both. */

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

/* Whether the sides of a call, which was judged, are one memory, as far as hosts look. */
bool sb_sides_are_one(const sb_vector_call_t *call, int rank);

#endif
