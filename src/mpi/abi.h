/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_ABI_H
#define SB_MPI_ABI_H

/*
 * The MPI that this back end is compiled against: one of SB_ABI_OMPI40, SB_ABI_MPICH12 and
 * SB_ABI_MPIABI1 is defined by the build, and the header is found in its folder.
 */
#if defined(SB_ABI_MPIABI1)
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif

#include <stdint.h>

/*
 * Open MPI's predefined handles are the addresses of data symbols. A back end that named them could
 * not be loaded where libmpi is not in the global scope, so they are looked up.
 */
#if defined(SB_ABI_OMPI40)
void *sb_host_object(const char *symbol);
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)sb_host_object(#global))
#define SB_SHORT_IS_SUCCESS 1 /* a broadcast of less than a rank expects: others raise an error */
#else
#define SB_SHORT_IS_SUCCESS 0
#endif

/*
 * Classes of errors that only fault tolerance has. Open MPI has them from 5.0 on, in mpi.h; this
 * back end may be compiled with an older one. MPI_SUCCESS: the ABI has none.
 */
#if defined(SB_ABI_OMPI40)
#define SB_CLASS_PROC_FAILED 75
#define SB_CLASS_REVOKED 77
#define SB_CLASSES_BY_REVOKED 1 /* a host has them if it can be asked what is revoked */
#elif defined(MPIX_ERR_PROC_FAILED) && defined(MPIX_ERR_REVOKED)
#define SB_CLASS_PROC_FAILED (MPIX_ERR_PROC_FAILED)
#define SB_CLASS_REVOKED (MPIX_ERR_REVOKED)
#define SB_CLASSES_BY_REVOKED 0
#else
#define SB_CLASS_PROC_FAILED MPI_SUCCESS
#define SB_CLASS_REVOKED MPI_SUCCESS
#define SB_CLASSES_BY_REVOKED 0
#endif

/*
 * Whether an operation is the host's own, which may have more than MPI names: MPICH's MPIX_EQUAL is
 * no function of elements, and Reduce_local knows nothing of it. Open MPI has those of MPI alone.
 */
#if defined(SB_ABI_MPICH12)
#define SB_IS_HOSTS_OPERATION(op) (((unsigned)(op)&0xfc000000u) == 0x58000000u)
#elif defined(SB_ABI_MPIABI1)
#define SB_IS_HOSTS_OPERATION(op) (SB_HANDLE_BITS(op) < 4096)
#else
#define SB_IS_HOSTS_OPERATION(op) false
#endif

/* A handle as a number, whether the ABI makes it an integer or a pointer. */
#define SB_HANDLE_BITS(handle) ((uintptr_t)(handle))

#endif
