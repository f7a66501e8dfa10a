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

/* A handle as a number, whether the ABI makes it an integer or a pointer. */
#define SB_HANDLE_BITS(handle) ((uintptr_t)(handle))

#endif
