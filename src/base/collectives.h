/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_COLLECTIVES_H
#define SB_BASE_COLLECTIVES_H

/*
 * Every collective operation: X(ENUMERATOR, name, its function without MPI_). For each there is a
 * variable SOBOR_<ENUMERATOR>_ALGORITHM, and its name is a word of SOBOR_COLLECTIVES. All but the
 * barrier have counts, and a second function for large ones. The reductions are last.
 */
#define SB_EACH_COUNTED(X)                                                                         \
    X(BCAST, bcast, Bcast)                                                                         \
    X(SCATTER, scatter, Scatter)                                                                   \
    X(SCATTERV, scatterv, Scatterv)                                                                \
    X(GATHER, gather, Gather)                                                                      \
    X(GATHERV, gatherv, Gatherv)                                                                   \
    X(ALLGATHER, allgather, Allgather)                                                             \
    X(ALLGATHERV, allgatherv, Allgatherv)                                                          \
    X(ALLTOALL, alltoall, Alltoall)                                                                \
    X(ALLTOALLV, alltoallv, Alltoallv)                                                             \
    X(ALLTOALLW, alltoallw, Alltoallw)                                                             \
    X(REDUCE, reduce, Reduce)                                                                      \
    X(ALLREDUCE, allreduce, Allreduce)                                                             \
    X(REDUCE_SCATTER, reduce_scatter, Reduce_scatter)                                              \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_block, Reduce_scatter_block)                            \
    X(SCAN, scan, Scan)                                                                            \
    X(EXSCAN, exscan, Exscan)
#define SB_EACH_COLLECTIVE(X) X(BARRIER, barrier, Barrier) SB_EACH_COUNTED(X)

#ifndef __ASSEMBLER__
#include <stdint.h>

typedef enum sb_collective {
#define SB_ENUMERATOR(enumerator, name, function) SB_##enumerator,
    SB_EACH_COLLECTIVE(SB_ENUMERATOR)
#undef SB_ENUMERATOR
        SB_COLLECTIVES
} sb_collective_t;

/* From SB_REDUCE on. */
#define SB_REDUCTIONS (SB_COLLECTIVES - SB_REDUCE)

/* "barrier", "bcast", ... */
const char *sb_collective_name(sb_collective_t collective);

/* "MPI_Barrier", "MPI_Bcast", ... */
const char *sb_collective_function(sb_collective_t collective);

/* "SOBOR_BARRIER_ALGORITHM", ... */
const char *sb_collective_variable(sb_collective_t collective);

/* The set of collectives among `words`, separated by commas: bit c for collective c. */
uint32_t sb_collectives_among(const char *words);

#endif
#endif
