/* SPDX-License-Identifier: BSD-3-Clause */
/* Alltoall, Alltoallv and Alltoallw. */
#include "mpi/backend.h"
#include "mpi/large.h"
#include "mpi/parts.h"
#include "mpi/serve.h"

/*
 * Alltoall. The choice follows from the packed bytes of one part, which everyone knows of what it
 * receives, also where it sends in place.
 */
static bool judge_alltoall(sb_parts_call_t *call, int rank, int size)
{
    (void)rank;
    return sb_parts_keep(call, &call->send, size, true) &&
           sb_parts_keep(call, &call->receive, size, false) && sb_parts_know(call, &call->receive);
}

/* Alltoallv and Alltoallw. Nobody knows the counts of others: the choice follows from none. */
static bool judge_alltoallv(sb_parts_call_t *call, int rank, int size)
{
    (void)rank;
    return sb_parts_keep(call, &call->send, size, true) &&
           sb_parts_keep(call, &call->receive, size, false);
}

static const sb_parts_rules_t alltoall = {
    .collective = SB_ALLTOALL, .rooted = false, .regular = true, .judge = judge_alltoall};
static const sb_parts_rules_t alltoallv = {
    .collective = SB_ALLTOALLV, .rooted = false, .regular = false, .judge = judge_alltoallv};
static const sb_parts_rules_t alltoallw = {
    .collective = SB_ALLTOALLW, .rooted = false, .regular = false, .judge = judge_alltoallv};

int sb_mpi_Alltoall(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
                    MPI_Datatype in_type, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {.rules = &alltoall,
                                .handle = handle,
                                .send = sb_equal_parts(out, out_count, out_type),
                                .receive = sb_equal_parts(in, in_count, in_type)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host.Alltoall(out, out_count, out_type, in, in_count, in_type, handle);
}

int sb_mpi_Alltoall_c(const void *out, MPI_Count out_count, MPI_Datatype out_type, void *in,
                      MPI_Count in_count, MPI_Datatype in_type, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {.rules = &alltoall,
                                .handle = handle,
                                .send = sb_equal_parts(out, out_count, out_type),
                                .receive = sb_equal_parts(in, in_count, in_type)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host_alltoall_c(out, out_count, out_type, in, in_count, in_type, handle);
}

int sb_mpi_Alltoallv(const void *out, const int out_counts[], const int out_places[],
                     MPI_Datatype out_type, void *in, const int in_counts[], const int in_places[],
                     MPI_Datatype in_type, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {
            .rules = &alltoallv,
            .handle = handle,
            .send = sb_varying_parts(out, SB_SMALL(out_counts), SB_SMALL(out_places), out_type),
            .receive = sb_varying_parts(in, SB_SMALL(in_counts), SB_SMALL(in_places), in_type)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host.Alltoallv(out, out_counts, out_places, out_type, in, in_counts, in_places,
                             in_type, handle);
}

int sb_mpi_Alltoallv_c(const void *out, const MPI_Count out_counts[], const MPI_Aint out_places[],
                       MPI_Datatype out_type, void *in, const MPI_Count in_counts[],
                       const MPI_Aint in_places[], MPI_Datatype in_type, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {
            .rules = &alltoallv,
            .handle = handle,
            .send = sb_varying_parts(out, SB_LARGE(out_counts), SB_LARGE(out_places), out_type),
            .receive = sb_varying_parts(in, SB_LARGE(in_counts), SB_LARGE(in_places), in_type)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host_alltoallv_c(out, out_counts, out_places, out_type, in, in_counts, in_places,
                               in_type, handle);
}

int sb_mpi_Alltoallw(const void *out, const int out_counts[], const int out_places[],
                     const MPI_Datatype out_types[], void *in, const int in_counts[],
                     const int in_places[], const MPI_Datatype in_types[], MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {
            .rules = &alltoallw,
            .handle = handle,
            .send = sb_typed_parts(out, SB_SMALL(out_counts), SB_SMALL(out_places), out_types),
            .receive = sb_typed_parts(in, SB_SMALL(in_counts), SB_SMALL(in_places), in_types)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host.Alltoallw(out, out_counts, out_places, out_types, in, in_counts, in_places,
                             in_types, handle);
}

int sb_mpi_Alltoallw_c(const void *out, const MPI_Count out_counts[], const MPI_Aint out_places[],
                       const MPI_Datatype out_types[], void *in, const MPI_Count in_counts[],
                       const MPI_Aint in_places[], const MPI_Datatype in_types[], MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {
            .rules = &alltoallw,
            .handle = handle,
            .send = sb_typed_parts(out, SB_LARGE(out_counts), SB_LARGE(out_places), out_types),
            .receive = sb_typed_parts(in, SB_LARGE(in_counts), SB_LARGE(in_places), in_types)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host_alltoallw_c(out, out_counts, out_places, out_types, in, in_counts, in_places,
                               in_types, handle);
}
