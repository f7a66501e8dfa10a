/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_BACKEND_H
#define SB_MPI_BACKEND_H

#include "mpi/host.h"

/* What the preloaded object finds in a back end by dlsym. */

/* Takes the host's functions from `libmpi`. Returns 0, or -1 if it is not of this back end's ABI.
 */
__attribute__((visibility("default"))) int sb_backend_start(void *libmpi);

/* The function that stands in for MPI_<name>, or NULL. */
__attribute__((visibility("default"))) void *sb_backend_function(const char *name);

/* The algorithm of this process's last call, "host", or NULL before the first. */
__attribute__((visibility("default"))) const char *sb_backend_last_algorithm(void);

/* The functions of functions.def, with the host's own prototypes. */
int sb_mpi_Barrier(MPI_Comm handle);
#define SB_COLLECTIVE(kind, enumerator, name, ...)                                                 \
    __typeof__(PMPI_##name) sb_mpi_##name;                                                         \
    int sb_mpi_##name##_c SB_TAKES_##kind(MPI_Count, MPI_Aint, __VA_ARGS__);
#include "mpi/collectives.def"
int sb_mpi_Comm_free(MPI_Comm *handle);
int sb_mpi_Comm_disconnect(MPI_Comm *handle);
__typeof__(PMPI_Init) sb_mpi_Init;
__typeof__(PMPI_Init_thread) sb_mpi_Init_thread;
int sb_mpi_Finalize(void);

#endif
