/* SPDX-License-Identifier: BSD-3-Clause */
/* Allgather and Allgatherv. */
#include "mpi/backend.h"
#include "mpi/large.h"
#include "mpi/parts.h"
#include "mpi/serve.h"

/*
 * Allgather. The choice follows from the packed bytes of one part, which everyone knows of what it
 * receives, also where it sends in place.
 */
static bool judge_allgather(sb_parts_call_t *call, int rank, int size)
{
    (void)rank;
    return sb_parts_keep(call, &call->send, 1, true) &&
           sb_parts_keep(call, &call->receive, size, false) && sb_parts_know(call, &call->receive);
}

/* Allgatherv. The choice follows from the packed bytes of all parts, whose counts all are given. */
static bool judge_allgatherv(sb_parts_call_t *call, int rank, int size)
{
    (void)rank;
    return sb_parts_keep(call, &call->send, 1, true) &&
           sb_parts_keep(call, &call->receive, size, false);
}

static const sb_parts_rules_t allgather = {
    .collective = SB_ALLGATHER, .rooted = false, .regular = true, .judge = judge_allgather};
static const sb_parts_rules_t allgatherv = {.collective = SB_ALLGATHERV,
                                            .rooted = false,
                                            .regular = false,
                                            .counted = true,
                                            .judge = judge_allgatherv};

int sb_mpi_Allgather(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
                     MPI_Datatype in_type, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {.rules = &allgather,
                                .handle = handle,
                                .send = sb_equal_parts(out, out_count, out_type),
                                .receive = sb_equal_parts(in, in_count, in_type)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host.Allgather(out, out_count, out_type, in, in_count, in_type, handle);
}

int sb_mpi_Allgather_c(const void *out, MPI_Count out_count, MPI_Datatype out_type, void *in,
                       MPI_Count in_count, MPI_Datatype in_type, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {.rules = &allgather,
                                .handle = handle,
                                .send = sb_equal_parts(out, out_count, out_type),
                                .receive = sb_equal_parts(in, in_count, in_type)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host_allgather_c(out, out_count, out_type, in, in_count, in_type, handle);
}

int sb_mpi_Allgatherv(const void *out, int out_count, MPI_Datatype out_type, void *in,
                      const int in_counts[], const int in_places[], MPI_Datatype in_type,
                      MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {
            .rules = &allgatherv,
            .handle = handle,
            .send = sb_equal_parts(out, out_count, out_type),
            .receive = sb_varying_parts(in, SB_SMALL(in_counts), SB_SMALL(in_places), in_type)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host.Allgatherv(out, out_count, out_type, in, in_counts, in_places, in_type, handle);
}

int sb_mpi_Allgatherv_c(const void *out, MPI_Count out_count, MPI_Datatype out_type, void *in,
                        const MPI_Count in_counts[], const MPI_Aint in_places[],
                        MPI_Datatype in_type, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {
            .rules = &allgatherv,
            .handle = handle,
            .send = sb_equal_parts(out, out_count, out_type),
            .receive = sb_varying_parts(in, SB_LARGE(in_counts), SB_LARGE(in_places), in_type)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host_allgatherv_c(out, out_count, out_type, in, in_counts, in_places, in_type,
                                handle);
}
