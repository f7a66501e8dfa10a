/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_HOST_H
#define SB_MPI_HOST_H

#include "base/compiler.h"
#include "mpi/abi.h"

#include <stdatomic.h>
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
#define SB_HOST_COLLECTIVE(name, lower)                                                            \
    __typeof__(&PMPI_##name) name;                                                                 \
    sb_##lower##_c_t *name##_c; /* NULL: the host has none */
#if SB_LARGE_COUNTS
#define SB_HOST_LARGE(name) __typeof__(&PMPI_##name) name; /* NULL: the host has none */
#else
#define SB_HOST_LARGE(name)
#endif
#include "mpi/host.def"
#undef SB_HOST
#undef SB_HOST_COLLECTIVE
#undef SB_HOST_LARGE
    int (*is_revoked)(MPI_Comm, int *); /* NULL: no fault tolerance */
    void (*opal_progress)(void);        /* NULL: not Open MPI, or not exported */
    bool (*opal_set_yield)(bool);       /* NULL likewise; returns the value before */
    int (*device_support)(void);        /* NULL: the host knows no device memory */
    int (*device_kind_support)(int kind, int *supported); /* NULL: it does not say */
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
 * Verdicts by call site, so that asking costs one look. An entry is the return address, shifted up
 * by one, with the verdict in its lowest bit; two threads that fill one entry write whole words.
 */
#define SB_CALL_SITES 1024 /* a power of two */

#define SB_VERDICT_ON(site) (&sb_host_verdicts[((site)*0x9e3779b97f4a7c15u >> 32) % SB_CALL_SITES])

extern _Atomic uint64_t sb_host_verdicts[SB_CALL_SITES];

/* Fills the entry of a call site. */
bool sb_host_judge(uint64_t site);

/* Return address of the function that uses it: who called. */
#define SB_CALLER() __builtin_return_address(0)

#endif
