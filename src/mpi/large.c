/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/large.h"

#include <limits.h>
#include <stdlib.h>

/* A side for a function whose counts are int. */
typedef struct small {
    int count;
    MPI_Datatype type;
    bool made; /* the type is one of ours */
    int *counts;
    int *places;
} small_t;

/*
 * More than an int counts become one element of a type that holds them all, which has the same
 * signature. What is insignificant is left as it is.
 */
static int shrink(bool significant, int64_t count, MPI_Datatype type, small_t *small)
{
    *small = (small_t){.count = count < 0 ? -1 : 0, .type = type};
    if (!significant)
        return MPI_SUCCESS;
    if (count <= INT_MAX) {
        small->count = count < 0 ? -1 : (int)count;
        return MPI_SUCCESS;
    }
    int error = sb_make_large_type(count, type, &small->type);
    small->made = error == MPI_SUCCESS;
    small->count = 1;
    return error;
}

/* Numbers that do not fit cannot be told to such a host: an error, as in language bindings that
 * stand in for the missing functions. */
static int narrow(const sb_numbers_t *numbers, int n, bool counts, int **small)
{
    *small = malloc((size_t)n * sizeof **small);
    if (*small == NULL)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < n; i++) {
        int64_t number = sb_number(numbers, i);
        if (number > INT_MAX || (!counts && number < INT_MIN))
            return MPI_ERR_COUNT;
        (*small)[i] = counts && number < 0 ? -1 : (int)number;
    }
    return MPI_SUCCESS;
}

static int shrink_side(const sb_side_t *side, bool significant, int members, small_t *small)
{
    int error = MPI_SUCCESS;

    if (side->kind == SB_BLOCKS_EQUAL)
        return shrink(significant, side->count, side->type, small);
    *small = (small_t){.type = side->type};
    if (!significant || members == 0 || side->counts.at == NULL || side->places.at == NULL)
        return MPI_SUCCESS;
    error = narrow(&side->counts, members, true, &small->counts);
    return error != MPI_SUCCESS ? error : narrow(&side->places, members, false, &small->places);
}

static void release(small_t *small)
{
    if (small->made)
        sb_host.Type_free(&small->type);
    free(small->counts);
    free(small->places);
}

/* Raises the error on the user's error handler. */
static int raise(MPI_Comm comm, int error)
{
    if (error != MPI_SUCCESS && comm != sb_host.comm_null)
        sb_host.Comm_call_errhandler(comm, error);
    return error;
}

/* The ranks that a collective's arrays speak of, and whether this rank is its root. */
static int look_at(MPI_Comm comm, int root, bool *is_root)
{
    int inter = 0, size = 0, rank = -1;

    *is_root = false;
    if (comm == sb_host.comm_null || sb_host.Comm_test_inter(comm, &inter) != MPI_SUCCESS)
        return 0;
    if (inter) {
        sb_host.Comm_remote_size(comm, &size);
        *is_root = root == MPI_ROOT;
    } else {
        sb_host.Comm_size(comm, &size);
        sb_host.Comm_rank(comm, &rank);
        *is_root = root == rank;
    }
    return size;
}

static int call_vector(const sb_vector_call_t *call, const small_t *out, const small_t *in,
                       MPI_Comm comm)
{
    const sb_side_t *send = &call->send, *receive = &call->receive;
    const void *from = send->buffer;
    void *to = receive->buffer;
    int root = call->root;

    switch (call->rules->collective) {
    case SB_SCATTER:
        return sb_host.Scatter(from, out->count, out->type, to, in->count, in->type, root, comm);
    case SB_SCATTERV:
        return sb_host.Scatterv(from, out->counts, out->places, out->type, to, in->count, in->type,
                                root, comm);
    case SB_GATHER:
        return sb_host.Gather(from, out->count, out->type, to, in->count, in->type, root, comm);
    case SB_GATHERV:
        return sb_host.Gatherv(from, out->count, out->type, to, in->counts, in->places, in->type,
                               root, comm);
    case SB_ALLGATHER:
        return sb_host.Allgather(from, out->count, out->type, to, in->count, in->type, comm);
    case SB_ALLGATHERV:
        return sb_host.Allgatherv(from, out->count, out->type, to, in->counts, in->places, in->type,
                                  comm);
    case SB_ALLTOALL:
        return sb_host.Alltoall(from, out->count, out->type, to, in->count, in->type, comm);
    case SB_ALLTOALLV:
        return sb_host.Alltoallv(from, out->counts, out->places, out->type, to, in->counts,
                                 in->places, in->type, comm);
    default:
        return sb_host.Alltoallw(from, out->counts, out->places, send->types, to, in->counts,
                                 in->places, receive->types, comm);
    }
}

int sb_large_vector(const sb_vector_call_t *call, MPI_Comm comm)
{
    sb_collective_t collective = call->rules->collective;
    bool scatter = collective == SB_SCATTER || collective == SB_SCATTERV;
    bool gather = collective == SB_GATHER || collective == SB_GATHERV, is_root;
    int members = look_at(comm, call->root, &is_root);
    small_t out, in;
    int out_error = shrink_side(&call->send, scatter ? is_root : call->send.buffer != MPI_IN_PLACE,
                                members, &out);
    int in_error = shrink_side(
        &call->receive, gather ? is_root : call->receive.buffer != MPI_IN_PLACE, members, &in);
    int error = raise(comm, out_error != MPI_SUCCESS ? out_error : in_error);

    if (error == MPI_SUCCESS)
        error = call_vector(call, &out, &in, comm);
    release(&out);
    release(&in);
    return error;
}

int sb_large_bcast(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm)
{
    small_t small;
    int error = shrink(true, count, type, &small);

    if (error == MPI_SUCCESS)
        error = sb_host.Bcast(buffer, small.count, small.type, root, comm);
    release(&small);
    return error;
}

/* ---- reductions: no type can stand for many elements, as operations are defined on elements ----
 */

static int call_reduction(const sb_reduce_call_t *call, const void *out, void *in, int count,
                          MPI_Comm comm)
{
    switch (call->rules->collective) {
    case SB_REDUCE:
        return sb_host.Reduce(out, in, count, call->type, call->op, call->root, comm);
    case SB_ALLREDUCE:
        return sb_host.Allreduce(out, in, count, call->type, call->op, comm);
    case SB_SCAN:
        return sb_host.Scan(out, in, count, call->type, call->op, comm);
    case SB_EXSCAN:
        return sb_host.Exscan(out, in, count, call->type, call->op, comm);
    default:
        return sb_host.Reduce_scatter_block(out, in, count, call->type, call->op, comm);
    }
}

static void *moved(const void *address, MPI_Aint bytes)
{
    if (address == MPI_IN_PLACE || address == NULL)
        return (void *)(uintptr_t)address;
    return (void *)((uintptr_t)address + (uintptr_t)bytes);
}

/* What is combined element by element is done in several calls. */
static int call_pieces(const sb_reduce_call_t *call, MPI_Comm comm)
{
    const int64_t most = 1 << 30;
    MPI_Aint lower, extent = 0;
    int error = sb_host.Type_get_extent(call->type, &lower, &extent);

    for (int64_t at = 0; at < call->count && error == MPI_SUCCESS; at += most) {
        int some = (int)(call->count - at < most ? call->count - at : most);
        error = call_reduction(call, moved(call->out, (MPI_Aint)at * extent),
                               moved(call->in, (MPI_Aint)at * extent), some, comm);
    }
    return error;
}

/* Of an inter-communicator too the array speaks of the own group. */
static int reduce_scatter(const sb_reduce_call_t *call, MPI_Comm comm)
{
    int size = 0, *small = NULL, error;

    if (call->counts.at == NULL || comm == sb_host.comm_null ||
        sb_host.Comm_size(comm, &size) != MPI_SUCCESS)
        return sb_host.Reduce_scatter(call->out, call->in, NULL, call->type, call->op, comm);
    error = raise(comm, narrow(&call->counts, size, true, &small));
    if (error == MPI_SUCCESS)
        error = sb_host.Reduce_scatter(call->out, call->in, small, call->type, call->op, comm);
    free(small);
    return error;
}

int sb_large_reduction(const sb_reduce_call_t *call, MPI_Comm comm)
{
    if (call->rules->collective == SB_REDUCE_SCATTER)
        return reduce_scatter(call, comm);
    if (call->count <= INT_MAX)
        return call_reduction(call, call->out, call->in, call->count < 0 ? -1 : (int)call->count,
                              comm);
    if (call->rules->collective == SB_REDUCE_SCATTER_BLOCK)
        return raise(comm, MPI_ERR_COUNT);
    return call_pieces(call, comm);
}
