/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_COLLECTIVES_H
#define SB_BASE_COLLECTIVES_H

#include <stdint.h>

/*
 * Every collective operation: X(ENUMERATOR, name, "the MPI function"). For each there is a variable
 * SOBOR_<ENUMERATOR>_ALGORITHM, and its name is a word of SOBOR_COLLECTIVES. The reductions are
 * last.
 */
#define SB_EACH_COLLECTIVE(X)                                                                      \
    X(BARRIER, barrier, "MPI_Barrier")                                                             \
    X(BCAST, bcast, "MPI_Bcast")                                                                   \
    X(SCATTER, scatter, "MPI_Scatter")                                                             \
    X(SCATTERV, scatterv, "MPI_Scatterv")                                                          \
    X(GATHER, gather, "MPI_Gather")                                                                \
    X(GATHERV, gatherv, "MPI_Gatherv")                                                             \
    X(ALLGATHER, allgather, "MPI_Allgather")                                                       \
    X(ALLGATHERV, allgatherv, "MPI_Allgatherv")                                                    \
    X(ALLTOALL, alltoall, "MPI_Alltoall")                                                          \
    X(ALLTOALLV, alltoallv, "MPI_Alltoallv")                                                       \
    X(ALLTOALLW, alltoallw, "MPI_Alltoallw")                                                       \
    X(REDUCE, reduce, "MPI_Reduce")                                                                \
    X(ALLREDUCE, allreduce, "MPI_Allreduce")                                                       \
    X(REDUCE_SCATTER, reduce_scatter, "MPI_Reduce_scatter")                                        \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_block, "MPI_Reduce_scatter_block")                      \
    X(SCAN, scan, "MPI_Scan")                                                                      \
    X(EXSCAN, exscan, "MPI_Exscan")

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
