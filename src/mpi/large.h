/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_LARGE_H
#define SB_MPI_LARGE_H

#include "mpi/host.h"

/*
 * The host's functions for large counts. A host without them gets its functions for small ones: a
 * single count becomes a type, or, of a reduction, several calls; an array has to fit.
 */
sb_scatter_c_t sb_host_scatter_c;
sb_scatterv_c_t sb_host_scatterv_c;
sb_gather_c_t sb_host_gather_c;
sb_gatherv_c_t sb_host_gatherv_c;
sb_allgather_c_t sb_host_allgather_c;
sb_allgatherv_c_t sb_host_allgatherv_c;
sb_alltoall_c_t sb_host_alltoall_c;
sb_alltoallv_c_t sb_host_alltoallv_c;
sb_alltoallw_c_t sb_host_alltoallw_c;
sb_reduce_c_t sb_host_reduce_c;
sb_allreduce_c_t sb_host_allreduce_c;
sb_reduce_scatter_c_t sb_host_reduce_scatter_c;
sb_reduce_scatter_block_c_t sb_host_reduce_scatter_block_c;
sb_scan_c_t sb_host_scan_c;
sb_exscan_c_t sb_host_exscan_c;

#endif
