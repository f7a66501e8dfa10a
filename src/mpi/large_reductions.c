/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions of large counts at hosts without functions for them. No type can stand for many
 * elements, as operations are defined on elements: what is combined element by element is done in
 * several calls. Where the result is dealt out, counts have to fit.
 */
#include "mpi/large.h"

#include <limits.h>
#include <stdlib.h>

/* One of the host's functions on `count` elements from `out` and `in` on. */
typedef struct piecewise {
    const void *out;
    void *in;
    MPI_Datatype type;
    MPI_Op op;
    int root;
    MPI_Comm comm;
    int (*call)(const struct piecewise *call, const void *out, void *in, int count);
} piecewise_t;

static void *moved(const void *address, MPI_Aint bytes)
{
    return (void *)((uintptr_t)address + (uintptr_t)bytes);
}

static int call_pieces(const piecewise_t *all, MPI_Count count)
{
    const int most = 1 << 30;
    MPI_Aint lower, extent = 0;
    int error = MPI_SUCCESS;

    if (count <= INT_MAX)
        return all->call(all, all->out, all->in, count < 0 ? -1 : (int)count);
    error = sb_host.Type_get_extent(all->type, &lower, &extent);
    for (MPI_Count at = 0; at < count && error == MPI_SUCCESS; at += most) {
        int some = count - at < most ? (int)(count - at) : most;
        const void *out =
            all->out == MPI_IN_PLACE ? all->out : moved(all->out, (MPI_Aint)at * extent);
        void *in = all->in == MPI_IN_PLACE || all->in == NULL
                       ? all->in
                       : moved(all->in, (MPI_Aint)at * extent);
        error = all->call(all, out, in, some);
    }
    return error;
}

static int call_reduce(const piecewise_t *all, const void *out, void *in, int count)
{
    return sb_host.Reduce(out, in, count, all->type, all->op, all->root, all->comm);
}

static int call_allreduce(const piecewise_t *all, const void *out, void *in, int count)
{
    return sb_host.Allreduce(out, in, count, all->type, all->op, all->comm);
}

static int call_scan(const piecewise_t *all, const void *out, void *in, int count)
{
    return sb_host.Scan(out, in, count, all->type, all->op, all->comm);
}

static int call_exscan(const piecewise_t *all, const void *out, void *in, int count)
{
    return sb_host.Exscan(out, in, count, all->type, all->op, all->comm);
}

int sb_host_reduce_c(const void *out, void *in, MPI_Count count, MPI_Datatype type, MPI_Op op,
                     int root, MPI_Comm comm)
{
    if (sb_host.reduce_c != NULL)
        return sb_host.reduce_c(out, in, count, type, op, root, comm);
    return call_pieces(&(piecewise_t){out, in, type, op, root, comm, call_reduce}, count);
}

int sb_host_allreduce_c(const void *out, void *in, MPI_Count count, MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm)
{
    if (sb_host.allreduce_c != NULL)
        return sb_host.allreduce_c(out, in, count, type, op, comm);
    return call_pieces(&(piecewise_t){out, in, type, op, 0, comm, call_allreduce}, count);
}

int sb_host_scan_c(const void *out, void *in, MPI_Count count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm)
{
    if (sb_host.scan_c != NULL)
        return sb_host.scan_c(out, in, count, type, op, comm);
    return call_pieces(&(piecewise_t){out, in, type, op, 0, comm, call_scan}, count);
}

int sb_host_exscan_c(const void *out, void *in, MPI_Count count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm)
{
    if (sb_host.exscan_c != NULL)
        return sb_host.exscan_c(out, in, count, type, op, comm);
    return call_pieces(&(piecewise_t){out, in, type, op, 0, comm, call_exscan}, count);
}

static int raise(MPI_Comm comm, int error)
{
    if (comm != sb_host.comm_null)
        sb_host.Comm_call_errhandler(comm, error);
    return error;
}

int sb_host_reduce_scatter_block_c(const void *out, void *in, MPI_Count count, MPI_Datatype type,
                                   MPI_Op op, MPI_Comm comm)
{
    if (sb_host.reduce_scatter_block_c != NULL)
        return sb_host.reduce_scatter_block_c(out, in, count, type, op, comm);
    if (count > INT_MAX)
        return raise(comm, MPI_ERR_COUNT);
    return sb_host.Reduce_scatter_block(out, in, count < 0 ? -1 : (int)count, type, op, comm);
}

static int narrow(const MPI_Count *counts, int *small, int size)
{
    for (int i = 0; i < size; i++) {
        if (counts[i] > INT_MAX)
            return MPI_ERR_COUNT;
        small[i] = counts[i] < 0 ? -1 : (int)counts[i];
    }
    return MPI_SUCCESS;
}

int sb_host_reduce_scatter_c(const void *out, void *in, const MPI_Count counts[], MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm)
{
    int size = 0;

    if (sb_host.reduce_scatter_c != NULL)
        return sb_host.reduce_scatter_c(out, in, counts, type, op, comm);
    /* Of an inter-communicator too the array speaks of the own group. */
    if (counts == NULL || comm == sb_host.comm_null ||
        sb_host.Comm_size(comm, &size) != MPI_SUCCESS)
        return sb_host.Reduce_scatter(out, in, NULL, type, op, comm);
    int *small = malloc((size_t)size * sizeof *small);
    int error = small == NULL ? MPI_ERR_NO_MEM : narrow(counts, small, size);
    error = error != MPI_SUCCESS ? raise(comm, error)
                                 : sb_host.Reduce_scatter(out, in, small, type, op, comm);
    free(small);
    return error;
}
