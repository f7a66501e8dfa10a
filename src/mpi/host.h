/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_HOST_H
#define SB_MPI_HOST_H

#include "base/compiler.h"
#include "mpi/abi.h"

#include <stdbool.h>

/* Functions with counts of MPI_Count, also where the header knows none. */
typedef int sb_bcast_c_t(void *, MPI_Count, MPI_Datatype, int, MPI_Comm);
typedef int sb_scatter_c_t(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
                           int, MPI_Comm);
typedef int sb_scatterv_c_t(const void *, const MPI_Count[], const MPI_Aint[], MPI_Datatype, void *,
                            MPI_Count, MPI_Datatype, int, MPI_Comm);
typedef sb_scatter_c_t sb_gather_c_t;
typedef int sb_gatherv_c_t(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count[],
                           const MPI_Aint[], MPI_Datatype, int, MPI_Comm);
typedef int sb_allgather_c_t(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
                             MPI_Comm);
typedef int sb_allgatherv_c_t(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count[],
                              const MPI_Aint[], MPI_Datatype, MPI_Comm);
typedef sb_allgather_c_t sb_alltoall_c_t;
typedef int sb_alltoallv_c_t(const void *, const MPI_Count[], const MPI_Aint[], MPI_Datatype,
                             void *, const MPI_Count[], const MPI_Aint[], MPI_Datatype, MPI_Comm);
typedef int sb_alltoallw_c_t(const void *, const MPI_Count[], const MPI_Aint[],
                             const MPI_Datatype[], void *, const MPI_Count[], const MPI_Aint[],
                             const MPI_Datatype[], MPI_Comm);
typedef int sb_reduce_c_t(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm);
typedef int sb_allreduce_c_t(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
typedef int sb_reduce_scatter_c_t(const void *, void *, const MPI_Count[], MPI_Datatype, MPI_Op,
                                  MPI_Comm);
typedef sb_allreduce_c_t sb_reduce_scatter_block_c_t;
typedef sb_allreduce_c_t sb_scan_c_t;
typedef sb_allreduce_c_t sb_exscan_c_t;

/*
 * The host MPI: its own functions, taken from its library by handle, never through the names that
 * Sobor stands in for.
 */
typedef struct sb_host {
#define SB_HOST(name) __typeof__(&PMPI_##name) name;
#if SB_LARGE_COUNTS
#define SB_HOST_LARGE(name) __typeof__(&PMPI_##name) name; /* NULL: the host has none */
#else
#define SB_HOST_LARGE(name)
#endif
#include "mpi/host.def"
#undef SB_HOST
#undef SB_HOST_LARGE
    /* NULL if the host has no functions for large counts. */
    sb_bcast_c_t *bcast_c;
    sb_scatter_c_t *scatter_c;
    sb_scatterv_c_t *scatterv_c;
    sb_gather_c_t *gather_c;
    sb_gatherv_c_t *gatherv_c;
    sb_allgather_c_t *allgather_c;
    sb_allgatherv_c_t *allgatherv_c;
    sb_alltoall_c_t *alltoall_c;
    sb_alltoallv_c_t *alltoallv_c;
    sb_alltoallw_c_t *alltoallw_c;
    sb_reduce_c_t *reduce_c;
    sb_allreduce_c_t *allreduce_c;
    sb_reduce_scatter_c_t *reduce_scatter_c;
    sb_reduce_scatter_block_c_t *reduce_scatter_block_c;
    sb_scan_c_t *scan_c;
    sb_exscan_c_t *exscan_c;
    int (*is_revoked)(MPI_Comm, int *); /* NULL: no fault tolerance */
    void (*opal_progress)(void);        /* NULL: not Open MPI, or not exported */
    bool (*opal_set_yield)(bool);       /* NULL likewise; returns the value before */
    int (*device_support)(void);        /* NULL: the host knows no device memory */
    MPI_Comm comm_null;
    MPI_Comm comm_self;
    MPI_Comm comm_world;
    MPI_Datatype datatype_null;
    MPI_Datatype byte;
    MPI_Op op_null;
    MPI_Errhandler errors_are_fatal;
    MPI_Errhandler errors_return;
} sb_host_t;

extern sb_host_t sb_host;

/* Fills sb_host. Returns false if the library lacks a function of this ABI. */
bool sb_host_open(void *libmpi);

/*
 * Whether a call comes from the host MPI itself (its library or one of its plug-ins) and not from
 * the user's program or a language binding. Such calls are none of ours.
 */
bool sb_host_calls(const void *return_address);

/* Return address of the function that uses it: who called. */
#define SB_CALLER() __builtin_return_address(0)

#endif
