/* SPDX-License-Identifier: BSD-3-Clause */
/* Gather and Gatherv. */
#include "mpi/backend.h"
#include "mpi/large.h"
#include "mpi/parts.h"
#include "mpi/serve.h"

/*
 * Gather. The choice follows from the packed bytes of one part: the root knows them of what it
 * receives, the others of what they send. MPI_IN_PLACE: at the root, as send buffer. Elsewhere what
 * concerns receiving is insignificant.
 */
static bool judge_gather(sb_parts_call_t *call, int rank, int size)
{
    bool root = rank == call->root;

    return sb_parts_keep(call, &call->send, 1, root) &&
           sb_parts_keep(call, &call->receive, root ? size : 0, false) &&
           sb_parts_know(call, root ? &call->receive : &call->send);
}

/* Gatherv. Only the root knows all counts: the choice follows from none. Else as gather. */
static bool judge_gatherv(sb_parts_call_t *call, int rank, int size)
{
    bool root = rank == call->root;

    return sb_parts_keep(call, &call->send, 1, root) &&
           sb_parts_keep(call, &call->receive, root ? size : 0, false);
}

static const sb_parts_rules_t gather = {
    .collective = SB_GATHER, .rooted = true, .regular = true, .judge = judge_gather};
static const sb_parts_rules_t gatherv = {
    .collective = SB_GATHERV, .rooted = true, .regular = false, .judge = judge_gatherv};

int sb_mpi_Gather(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
                  MPI_Datatype in_type, int root, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {.rules = &gather,
                                .handle = handle,
                                .root = root,
                                .send = sb_equal_parts(out, out_count, out_type),
                                .receive = sb_equal_parts(in, in_count, in_type)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host.Gather(out, out_count, out_type, in, in_count, in_type, root, handle);
}

int sb_mpi_Gather_c(const void *out, MPI_Count out_count, MPI_Datatype out_type, void *in,
                    MPI_Count in_count, MPI_Datatype in_type, int root, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {.rules = &gather,
                                .handle = handle,
                                .root = root,
                                .send = sb_equal_parts(out, out_count, out_type),
                                .receive = sb_equal_parts(in, in_count, in_type)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host_gather_c(out, out_count, out_type, in, in_count, in_type, root, handle);
}

int sb_mpi_Gatherv(const void *out, int out_count, MPI_Datatype out_type, void *in,
                   const int in_counts[], const int in_places[], MPI_Datatype in_type, int root,
                   MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {
            .rules = &gatherv,
            .handle = handle,
            .root = root,
            .send = sb_equal_parts(out, out_count, out_type),
            .receive = sb_varying_parts(in, SB_SMALL(in_counts), SB_SMALL(in_places), in_type)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host.Gatherv(out, out_count, out_type, in, in_counts, in_places, in_type, root,
                           handle);
}

int sb_mpi_Gatherv_c(const void *out, MPI_Count out_count, MPI_Datatype out_type, void *in,
                     const MPI_Count in_counts[], const MPI_Aint in_places[], MPI_Datatype in_type,
                     int root, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {
            .rules = &gatherv,
            .handle = handle,
            .root = root,
            .send = sb_equal_parts(out, out_count, out_type),
            .receive = sb_varying_parts(in, SB_LARGE(in_counts), SB_LARGE(in_places), in_type)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host_gatherv_c(out, out_count, out_type, in, in_counts, in_places, in_type, root,
                             handle);
}
