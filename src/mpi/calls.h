/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_CALLS_H
#define SB_MPI_CALLS_H

#include "mpi/host.h"

/* The functions of functions.def, with the host's own prototypes. */
int sb_mpi_Barrier(MPI_Comm handle);
#define SB_COLLECTIVE(kind, enumerator, name, ...)                                                 \
    __typeof__(PMPI_##name) sb_mpi_##name;                                                         \
    int sb_mpi_##name##_c SB_TAKES_##kind(MPI_Count, MPI_Aint, __VA_ARGS__);
#include "mpi/collectives.def"
int sb_mpi_Comm_free(MPI_Comm *handle);
int sb_mpi_Comm_disconnect(MPI_Comm *handle);
__typeof__(PMPI_Win_create) sb_mpi_Win_create;
__typeof__(PMPI_Win_allocate) sb_mpi_Win_allocate;
__typeof__(PMPI_Win_allocate_shared) sb_mpi_Win_allocate_shared;
__typeof__(PMPI_Win_create_dynamic) sb_mpi_Win_create_dynamic;
int sb_mpi_Win_create_c(void *base, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                        MPI_Win *window);
int sb_mpi_Win_allocate_c(MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void *base,
                          MPI_Win *window);
int sb_mpi_Win_allocate_shared_c(MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                                 void *base, MPI_Win *window);
__typeof__(PMPI_Init) sb_mpi_Init;
__typeof__(PMPI_Init_thread) sb_mpi_Init_thread;
int sb_mpi_Finalize(void);

/* What the program comes to in place of a tool's MPI_<name>, which that calls in turn. */
void *sb_around_tool(const char *name, void *function);

#endif
