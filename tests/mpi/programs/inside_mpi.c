/* SPDX-License-Identifier: BSD-3-Clause */
/* A made-up MPI library that holds a Fortran binding, preloaded: Sobor finds the library by
 * PMPI_Initialized. The binding has the name in capitals alone, which is what dladdr tells of some
 * of those with several. */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>

int PMPI_Initialized(int *flag)
{
    return ((__typeof__(&PMPI_Initialized))dlsym(RTLD_NEXT, "PMPI_Initialized"))(flag);
}

void MPI_BARRIER(const MPI_Fint *comm, MPI_Fint *error);

void MPI_BARRIER(const MPI_Fint *comm, MPI_Fint *error)
{
    *error = MPI_Barrier(MPI_Comm_f2c(*comm));
}
