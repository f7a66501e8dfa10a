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
int sb_mpi_Bcast(void *buffer, int elements, MPI_Datatype type, int root, MPI_Comm handle);
sb_bcast_c_t sb_mpi_Bcast_c;
__typeof__(PMPI_Scatter) sb_mpi_Scatter;
sb_scatter_c_t sb_mpi_Scatter_c;
__typeof__(PMPI_Scatterv) sb_mpi_Scatterv;
sb_scatterv_c_t sb_mpi_Scatterv_c;
__typeof__(PMPI_Gather) sb_mpi_Gather;
sb_gather_c_t sb_mpi_Gather_c;
__typeof__(PMPI_Gatherv) sb_mpi_Gatherv;
sb_gatherv_c_t sb_mpi_Gatherv_c;
__typeof__(PMPI_Allgather) sb_mpi_Allgather;
sb_allgather_c_t sb_mpi_Allgather_c;
__typeof__(PMPI_Allgatherv) sb_mpi_Allgatherv;
sb_allgatherv_c_t sb_mpi_Allgatherv_c;
__typeof__(PMPI_Alltoall) sb_mpi_Alltoall;
sb_alltoall_c_t sb_mpi_Alltoall_c;
__typeof__(PMPI_Alltoallv) sb_mpi_Alltoallv;
sb_alltoallv_c_t sb_mpi_Alltoallv_c;
__typeof__(PMPI_Alltoallw) sb_mpi_Alltoallw;
sb_alltoallw_c_t sb_mpi_Alltoallw_c;
__typeof__(PMPI_Reduce) sb_mpi_Reduce;
sb_reduce_c_t sb_mpi_Reduce_c;
__typeof__(PMPI_Allreduce) sb_mpi_Allreduce;
sb_allreduce_c_t sb_mpi_Allreduce_c;
__typeof__(PMPI_Reduce_scatter) sb_mpi_Reduce_scatter;
sb_reduce_scatter_c_t sb_mpi_Reduce_scatter_c;
__typeof__(PMPI_Reduce_scatter_block) sb_mpi_Reduce_scatter_block;
sb_reduce_scatter_block_c_t sb_mpi_Reduce_scatter_block_c;
__typeof__(PMPI_Scan) sb_mpi_Scan;
sb_scan_c_t sb_mpi_Scan_c;
__typeof__(PMPI_Exscan) sb_mpi_Exscan;
sb_exscan_c_t sb_mpi_Exscan_c;
int sb_mpi_Comm_free(MPI_Comm *handle);
int sb_mpi_Comm_disconnect(MPI_Comm *handle);
int sb_mpi_Finalize(void);

const char *sb_last_algorithm(void);

#endif
