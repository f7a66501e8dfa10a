/* SPDX-License-Identifier: BSD-3-Clause */
/* A made-up side of the bench: passes the calls that are timed and checked on to the MPI library,
 * slower by a known time, or with a wrong result. Built twice: with the names PMPI_* it is loaded
 * as the library and is the host, of the bench or of Sobor; with the names MPI_* it is preloaded
 * and stands for Sobor.
 *
 * HOST_SLOW, PROGRAM_SLOW: microseconds that a call takes longer, on every rank.
 * HOST_FIRST, PROGRAM_FIRST: microseconds that its first call but for barriers takes longer.
 * HOST_SKEW, PROGRAM_SKEW: microseconds by which a barrier lets rank 0 go before the others.
 * HOST_WRONG, PROGRAM_WRONG: set if what is received is wrong. */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#ifdef AS_HOST
#define NAME(function) PMPI_##function
#define SIDE "HOST_"
#else
#define NAME(function) MPI_##function
#define SIDE "PROGRAM_"
#endif

/* Seconds for which nobody sleeps, since waking up takes a part of them. */
#define AWAKE 3e-4

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* By the clock: the processor may be taken away meanwhile, and a long time is left to others. */
static void spend(const char *microseconds)
{
    double seconds = microseconds == NULL ? 0.0 : atof(microseconds) * 1e-6, end = now() + seconds;
    struct timespec most = {.tv_nsec = (long)((seconds - AWAKE) * 1e9)};
    if (seconds > AWAKE)
        nanosleep(&most, NULL);
    while (now() < end)
        ;
}

static void be_slow(void)
{
    spend(getenv(SIDE "SLOW"));
}

static int spoil(int status, void *received)
{
    static int calls;
    be_slow();
    if (calls++ == 0)
        spend(getenv(SIDE "FIRST"));
    if (getenv(SIDE "WRONG") != NULL)
        *(unsigned char *)received ^= 1;
    return status;
}

#define HOST(function) ((__typeof__(&PMPI_##function))dlsym(RTLD_NEXT, "PMPI_" #function))
#define PASS(function, received, ...) return spoil(HOST(function)(__VA_ARGS__), received)

int NAME(Barrier)(MPI_Comm comm)
{
    int rank, status;
    be_slow();
    status = getenv(SIDE "WRONG") != NULL ? MPI_SUCCESS : HOST(Barrier)(comm);
    PMPI_Comm_rank(comm, &rank);
    if (rank > 0)
        spend(getenv(SIDE "SKEW"));
    return status;
}

#ifdef AS_HOST
/* By this function Sobor finds the library: here, when it runs with a made-up host. */
int PMPI_Initialized(int *flag)
{
    return HOST(Initialized)(flag);
}
#endif

/* The bench's own agreements have other types and operators than its samples. */
int NAME(Bcast)(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    if (type != MPI_BYTE)
        return HOST(Bcast)(data, count, type, root, comm);
    int rank;
    unsigned char unused;
    PMPI_Comm_rank(comm, &rank);
    PASS(Bcast, rank == root ? &unused : data, data, count, type, root, comm);
}

int NAME(Scatter)(const void *out, int n, MPI_Datatype t, void *in, int m, MPI_Datatype u, int root,
                  MPI_Comm comm)
{
    PASS(Scatter, in, out, n, t, in, m, u, root, comm);
}

int NAME(Scatterv)(const void *out, const int *n, const int *d, MPI_Datatype t, void *in, int m,
                   MPI_Datatype u, int root, MPI_Comm comm)
{
    PASS(Scatterv, in, out, n, d, t, in, m, u, root, comm);
}

int NAME(Gather)(const void *out, int n, MPI_Datatype t, void *in, int m, MPI_Datatype u, int root,
                 MPI_Comm comm)
{
    PASS(Gather, in, out, n, t, in, m, u, root, comm);
}

int NAME(Gatherv)(const void *out, int n, MPI_Datatype t, void *in, const int *m, const int *d,
                  MPI_Datatype u, int root, MPI_Comm comm)
{
    PASS(Gatherv, in, out, n, t, in, m, d, u, root, comm);
}

int NAME(Allgather)(const void *out, int n, MPI_Datatype t, void *in, int m, MPI_Datatype u,
                    MPI_Comm comm)
{
    PASS(Allgather, in, out, n, t, in, m, u, comm);
}

int NAME(Allgatherv)(const void *out, int n, MPI_Datatype t, void *in, const int *m, const int *d,
                     MPI_Datatype u, MPI_Comm comm)
{
    PASS(Allgatherv, in, out, n, t, in, m, d, u, comm);
}

int NAME(Alltoall)(const void *out, int n, MPI_Datatype t, void *in, int m, MPI_Datatype u,
                   MPI_Comm comm)
{
    PASS(Alltoall, in, out, n, t, in, m, u, comm);
}

int NAME(Alltoallv)(const void *out, const int *n, const int *d, MPI_Datatype t, void *in,
                    const int *m, const int *e, MPI_Datatype u, MPI_Comm comm)
{
    PASS(Alltoallv, in, out, n, d, t, in, m, e, u, comm);
}

int NAME(Alltoallw)(const void *out, const int *n, const int *d, const MPI_Datatype *t, void *in,
                    const int *m, const int *e, const MPI_Datatype *u, MPI_Comm comm)
{
    PASS(Alltoallw, in, out, n, d, t, in, m, e, u, comm);
}

int NAME(Reduce)(const void *out, void *in, int n, MPI_Datatype t, MPI_Op op, int root,
                 MPI_Comm comm)
{
    if (op != MPI_SUM)
        return HOST(Reduce)(out, in, n, t, op, root, comm);
    PASS(Reduce, in, out, in, n, t, op, root, comm);
}

int NAME(Allreduce)(const void *out, void *in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm)
{
    if (op != MPI_SUM)
        return HOST(Allreduce)(out, in, n, t, op, comm);
    PASS(Allreduce, in, out, in, n, t, op, comm);
}

int NAME(Reduce_scatter)(const void *out, void *in, const int *n, MPI_Datatype t, MPI_Op op,
                         MPI_Comm comm)
{
    PASS(Reduce_scatter, in, out, in, n, t, op, comm);
}

int NAME(Reduce_scatter_block)(const void *out, void *in, int n, MPI_Datatype t, MPI_Op op,
                               MPI_Comm comm)
{
    PASS(Reduce_scatter_block, in, out, in, n, t, op, comm);
}

int NAME(Scan)(const void *out, void *in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm)
{
    PASS(Scan, in, out, in, n, t, op, comm);
}

int NAME(Exscan)(const void *out, void *in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm)
{
    PASS(Exscan, in, out, in, n, t, op, comm);
}
