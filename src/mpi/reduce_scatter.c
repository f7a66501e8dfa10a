/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduce_scatter and Reduce_scatter_block. */
#include "mpi/backend.h"
#include "mpi/large.h"
#include "mpi/reduction.h"
#include "mpi/serve.h"

/* Reduce_scatter. Everyone is given the counts of all. */
static bool judge_reduce_scatter(sb_reduction_call_t *call, int rank, int size)
{
    if (call->counts.at == NULL)
        return false;
    call->elements = 0;
    for (int i = 0; i < size; i++) {
        int64_t count = sb_number(&call->counts, i);
        if (count < 0 || __builtin_add_overflow(call->elements, count, &call->elements))
            return false;
        call->received = i == rank ? count : call->received;
    }
    return sb_reduction_sides(call, true, true);
}

/* Reduce_scatter_block. */
static bool judge_reduce_scatter_block(sb_reduction_call_t *call, int rank, int size)
{
    (void)rank;
    call->received = call->count;
    return !__builtin_mul_overflow(call->count, (int64_t)size, &call->elements) &&
           sb_reduction_sides(call, true, true);
}

static const sb_reduction_rules_t reduce_scatter = {
    .collective = SB_REDUCE_SCATTER, .rooted = false, .judge = judge_reduce_scatter};
static const sb_reduction_rules_t reduce_scatter_block = {
    .collective = SB_REDUCE_SCATTER_BLOCK, .rooted = false, .judge = judge_reduce_scatter_block};

int sb_mpi_Reduce_scatter(const void *out, void *in, const int counts[], MPI_Datatype type,
                          MPI_Op op, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_reduction_call_t call = SB_REDUCTION_CALL(reduce_scatter, .counts = SB_SMALL(counts));
        if (sb_reduction_serve(&call, &result))
            return result;
    }
    return sb_host.Reduce_scatter(out, in, counts, type, op, handle);
}

int sb_mpi_Reduce_scatter_c(const void *out, void *in, const MPI_Count counts[], MPI_Datatype type,
                            MPI_Op op, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_reduction_call_t call = SB_REDUCTION_CALL(reduce_scatter, .counts = SB_LARGE(counts));
        if (sb_reduction_serve(&call, &result))
            return result;
    }
    return sb_host_reduce_scatter_c(out, in, counts, type, op, handle);
}

int sb_mpi_Reduce_scatter_block(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op,
                                MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_reduction_call_t call = SB_REDUCTION_CALL(reduce_scatter_block, .count = count);
        if (sb_reduction_serve(&call, &result))
            return result;
    }
    return sb_host.Reduce_scatter_block(out, in, count, type, op, handle);
}

int sb_mpi_Reduce_scatter_block_c(const void *out, void *in, MPI_Count count, MPI_Datatype type,
                                  MPI_Op op, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_reduction_call_t call = SB_REDUCTION_CALL(reduce_scatter_block, .count = count);
        if (sb_reduction_serve(&call, &result))
            return result;
    }
    return sb_host_reduce_scatter_block_c(out, in, count, type, op, handle);
}
