/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduce and Allreduce. */
#include "mpi/backend.h"
#include "mpi/large.h"
#include "mpi/reduction.h"
#include "mpi/serve.h"

/*
 * Reduce. MPI_IN_PLACE: at the root, as send buffer. Elsewhere the receive buffer is
 * insignificant.
 */
static bool judge_reduce(sb_reduction_call_t *call, int rank, int size)
{
    (void)size;
    call->elements = call->received = call->count;
    return sb_reduction_sides(call, rank == call->root, rank == call->root);
}

/* Allreduce. */
static bool judge_allreduce(sb_reduction_call_t *call, int rank, int size)
{
    (void)rank;
    (void)size;
    call->elements = call->received = call->count;
    return sb_reduction_sides(call, true, true);
}

static const sb_reduction_rules_t reduce = {
    .collective = SB_REDUCE, .rooted = true, .judge = judge_reduce};
static const sb_reduction_rules_t allreduce = {
    .collective = SB_ALLREDUCE, .rooted = false, .judge = judge_allreduce};

int sb_mpi_Reduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, int root,
                  MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_reduction_call_t call = SB_REDUCTION_CALL(reduce, .count = count, .root = root);
        if (sb_reduction_serve(&call, &result))
            return result;
    }
    return sb_host.Reduce(out, in, count, type, op, root, handle);
}

int sb_mpi_Reduce_c(const void *out, void *in, MPI_Count count, MPI_Datatype type, MPI_Op op,
                    int root, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_reduction_call_t call = SB_REDUCTION_CALL(reduce, .count = count, .root = root);
        if (sb_reduction_serve(&call, &result))
            return result;
    }
    return sb_host_reduce_c(out, in, count, type, op, root, handle);
}

int sb_mpi_Allreduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_reduction_call_t call = SB_REDUCTION_CALL(allreduce, .count = count);
        if (sb_reduction_serve(&call, &result))
            return result;
    }
    return sb_host.Allreduce(out, in, count, type, op, handle);
}

int sb_mpi_Allreduce_c(const void *out, void *in, MPI_Count count, MPI_Datatype type, MPI_Op op,
                       MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_reduction_call_t call = SB_REDUCTION_CALL(allreduce, .count = count);
        if (sb_reduction_serve(&call, &result))
            return result;
    }
    return sb_host_allreduce_c(out, in, count, type, op, handle);
}
