/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_LARGE_H
#define SB_MPI_LARGE_H

#include "mpi/reduction.h"
#include "mpi/vector.h"

/*
 * Calls with large counts at a host that has no functions for them: it gets its functions for small
 * ones. A single count becomes a type, or, of a reduction, several calls; an array has to fit.
 * Only the arguments of the calls are looked at, nothing that follows from them. They return what
 * the host's function returns.
 */
int sb_large_bcast(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm);
int sb_large_vector(const sb_vector_call_t *call, MPI_Comm comm);
int sb_large_reduction(const sb_reduce_call_t *call, MPI_Comm comm);

/* The same of a window's displacement unit, which has to fit: else an error, which is raised. */
int sb_large_unit(MPI_Aint unit, int *small, MPI_Comm comm);

#endif
