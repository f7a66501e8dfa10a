/* SPDX-License-Identifier: BSD-3-Clause */
/* A profiling tool that takes the host's functions from dlsym(RTLD_NEXT), as Darshan does: that
 * leads past whatever was loaded before it. It makes collective calls of its own in MPI_Init, once
 * the host is initialised, and in MPI_Finalize before that ends. It also stands before the
 * functions that free communicators. */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <stdio.h>

static MPI_Comm own;

static void check(MPI_Comm comm, const char *where)
{
    int rank, size, sum = 0, value = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    if (rank == 0)
        value = 42;
    PMPI_Bcast(&value, 1, MPI_INT, 0, comm);
    PMPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    PMPI_Barrier(comm);
    if (rank == 0)
        printf("tool: %s %s\n", where, sum == 42 * size ? "right" : "wrong");
}

static void begin(void)
{
    PMPI_Comm_dup(MPI_COMM_WORLD, &own);
    check(own, "begins");
    check(MPI_COMM_WORLD, "goes on");
}

int MPI_Init(int *argc, char ***argv)
{
    int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(RTLD_NEXT, "PMPI_Init");
    int error = init(argc, argv);
    if (error == MPI_SUCCESS)
        begin();
    return error;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int (*init)(int *, char ***, int, int *) =
        (int (*)(int *, char ***, int, int *))dlsym(RTLD_NEXT, "PMPI_Init_thread");
    int error = init(argc, argv, required, provided);
    if (error == MPI_SUCCESS)
        begin();
    return error;
}

int MPI_Finalize(void)
{
    int (*finalize)(void) = (int (*)(void))dlsym(RTLD_NEXT, "PMPI_Finalize");
    check(MPI_COMM_WORLD, "ends");
    check(own, "is gone");
    PMPI_Comm_free(&own);
    return finalize();
}

int MPI_Comm_free(MPI_Comm *comm)
{
    return ((int (*)(MPI_Comm *))dlsym(RTLD_NEXT, "PMPI_Comm_free"))(comm);
}

int MPI_Comm_disconnect(MPI_Comm *comm)
{
    return ((int (*)(MPI_Comm *))dlsym(RTLD_NEXT, "PMPI_Comm_disconnect"))(comm);
}
