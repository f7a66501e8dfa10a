/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/large.h"

#include <limits.h>
#include <stdlib.h>

/* A side for a function whose counts are int. */
typedef struct small {
    sb_given_t given;
    bool made; /* the type is one of ours */
} small_t;

/*
 * More than an int counts become one element of a type that holds them all, which has the same
 * signature. What is insignificant is left as it is.
 */
static int shrink(bool significant, int64_t count, MPI_Datatype type, small_t *small)
{
    *small = (small_t){{.count = count < 0 ? -1 : 0, .type = type}, false};
    if (!significant)
        return MPI_SUCCESS;
    if (count <= INT_MAX) {
        small->given.count = count < 0 ? -1 : (int)count;
        return MPI_SUCCESS;
    }
    int error = sb_make_large_type(count, type, &small->given.type);
    small->made = error == MPI_SUCCESS;
    small->given.count = 1;
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
    if (side->kind == SB_BLOCKS_EQUAL)
        return shrink(significant, side->count, side->type, small);
    *small = (small_t){{.type = side->type, .types = side->types}, false};
    if (!significant || members == 0 || side->counts.at == NULL || side->places.at == NULL)
        return MPI_SUCCESS;
    int error = narrow(&side->counts, members, true, &small->given.counts);
    return error != MPI_SUCCESS ? error
                                : narrow(&side->places, members, false, &small->given.places);
}

static void release(small_t *small)
{
    if (small->made)
        sb_host.Type_free(&small->given.type);
    free(small->given.counts);
    free(small->given.places);
}

/* Raises the error on the user's error handler. */
static int raise(MPI_Comm comm, int error)
{
    if (error != MPI_SUCCESS && comm != sb_host.comm_null)
        sb_host.Comm_call_errhandler(comm, error);
    return error;
}

int sb_large_unit(MPI_Aint unit, int *small, MPI_Comm comm)
{
    *small = unit < 0 ? -1 : (int)unit;
    return raise(comm, unit > INT_MAX ? MPI_ERR_COUNT : MPI_SUCCESS);
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

/* Whether what a side gives counts at this rank. */
static bool is_significant(const sb_vector_call_t *call, const sb_side_t *side, bool is_root)
{
    return call->rooted && side->all ? is_root : side->buffer != MPI_IN_PLACE;
}

int sb_large_vector(const sb_vector_call_t *call, MPI_Comm comm)
{
    const sb_side_t *send = &call->send, *receive = &call->receive;
    bool is_root;
    int members = look_at(comm, call->root, &is_root);
    small_t out, in;
    int out_error = shrink_side(send, is_significant(call, send, is_root), members, &out);
    int in_error = shrink_side(receive, is_significant(call, receive, is_root), members, &in);
    int error = raise(comm, out_error != MPI_SUCCESS ? out_error : in_error);

    if (error == MPI_SUCCESS)
        error = sb_host_vector(call->collective, send->buffer, &out.given, receive->buffer,
                               &in.given, call->root, comm);
    release(&out);
    release(&in);
    return error;
}

int sb_large_bcast(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm)
{
    small_t small;
    int error = shrink(true, count, type, &small);

    if (error == MPI_SUCCESS)
        error = sb_host.Bcast(buffer, small.given.count, small.given.type, root, comm);
    release(&small);
    return error;
}

/* ---- reductions: no type can stand for many elements, as operations are defined on elements ----
 */

static int call_reduction(const sb_reduce_call_t *call, const void *out, void *in, int count,
                          int *counts, MPI_Comm comm)
{
    const sb_given_t given = {.type = call->type, .count = count, .counts = counts};

    return sb_host_reduction(call->collective, out, in, &given, call->op, call->root, comm);
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
                               moved(call->in, (MPI_Aint)at * extent), some, NULL, comm);
    }
    return error;
}

/* Of an inter-communicator too the array speaks of the own group. */
static int reduce_scatter(const sb_reduce_call_t *call, MPI_Comm comm)
{
    int size = 0, *small = NULL, error;

    if (call->counts.at == NULL || comm == sb_host.comm_null ||
        sb_host.Comm_size(comm, &size) != MPI_SUCCESS)
        return call_reduction(call, call->out, call->in, 0, NULL, comm);
    error = raise(comm, narrow(&call->counts, size, true, &small));
    if (error == MPI_SUCCESS)
        error = call_reduction(call, call->out, call->in, 0, small, comm);
    free(small);
    return error;
}

int sb_large_reduction(const sb_reduce_call_t *call, MPI_Comm comm)
{
    if (call->collective == SB_REDUCE_SCATTER)
        return reduce_scatter(call, comm);
    if (call->count <= INT_MAX)
        return call_reduction(call, call->out, call->in, call->count < 0 ? -1 : (int)call->count,
                              NULL, comm);
    if (call->collective == SB_REDUCE_SCATTER_BLOCK)
        return raise(comm, MPI_ERR_COUNT);
    return call_pieces(call, comm);
}
