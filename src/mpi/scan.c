/* SPDX-License-Identifier: BSD-3-Clause */
/* Scan and Exscan. */
#include "mpi/backend.h"
#include "mpi/large.h"
#include "mpi/reduction.h"
#include "mpi/serve.h"

/* Scan. */
static bool judge_scan(sb_reduction_call_t *call, int rank, int size)
{
    (void)rank;
    (void)size;
    call->elements = call->received = call->count;
    return sb_reduction_sides(call, true, true);
}

/* Exscan. Rank 0 receives nothing: its receive buffer is left alone. */
static bool judge_exscan(sb_reduction_call_t *call, int rank, int size)
{
    (void)size;
    call->elements = call->received = call->count;
    return sb_reduction_sides(call, true, rank > 0);
}

static const sb_reduction_rules_t scan = {
    .collective = SB_SCAN, .rooted = false, .judge = judge_scan};
static const sb_reduction_rules_t exscan = {
    .collective = SB_EXSCAN, .rooted = false, .judge = judge_exscan};

int sb_mpi_Scan(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_reduction_call_t call = SB_REDUCTION_CALL(scan, .count = count);
        if (sb_reduction_serve(&call, &result))
            return result;
    }
    return sb_host.Scan(out, in, count, type, op, handle);
}

int sb_mpi_Scan_c(const void *out, void *in, MPI_Count count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_reduction_call_t call = SB_REDUCTION_CALL(scan, .count = count);
        if (sb_reduction_serve(&call, &result))
            return result;
    }
    return sb_host_scan_c(out, in, count, type, op, handle);
}

int sb_mpi_Exscan(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_reduction_call_t call = SB_REDUCTION_CALL(exscan, .count = count);
        if (sb_reduction_serve(&call, &result))
            return result;
    }
    return sb_host.Exscan(out, in, count, type, op, handle);
}

int sb_mpi_Exscan_c(const void *out, void *in, MPI_Count count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_reduction_call_t call = SB_REDUCTION_CALL(exscan, .count = count);
        if (sb_reduction_serve(&call, &result))
            return result;
    }
    return sb_host_exscan_c(out, in, count, type, op, handle);
}
