/* SPDX-License-Identifier: BSD-3-Clause */
/* Scatter and Scatterv. */
#include "mpi/backend.h"
#include "mpi/large.h"
#include "mpi/parts.h"
#include "mpi/serve.h"

/*
 * Scatter. The choice follows from the packed bytes of one part: the root knows them of what it
 * sends, the others of what they receive. MPI_IN_PLACE: at the root, as receive buffer. Elsewhere
 * what concerns sending is insignificant.
 */
static bool judge_scatter(sb_parts_call_t *call, int rank, int size)
{
    bool root = rank == call->root;

    return sb_parts_keep(call, &call->send, root ? size : 0, false) &&
           sb_parts_keep(call, &call->receive, 1, root) &&
           sb_parts_know(call, root ? &call->send : &call->receive);
}

/* Scatterv. Only the root knows the counts: the choice follows from none. Else as scatter. */
static bool judge_scatterv(sb_parts_call_t *call, int rank, int size)
{
    bool root = rank == call->root;

    return sb_parts_keep(call, &call->send, root ? size : 0, false) &&
           sb_parts_keep(call, &call->receive, 1, root);
}

static const sb_parts_rules_t scatter = {
    .collective = SB_SCATTER, .rooted = true, .regular = true, .judge = judge_scatter};
static const sb_parts_rules_t scatterv = {
    .collective = SB_SCATTERV, .rooted = true, .regular = false, .judge = judge_scatterv};

int sb_mpi_Scatter(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
                   MPI_Datatype in_type, int root, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {.rules = &scatter,
                                .handle = handle,
                                .root = root,
                                .send = sb_equal_parts(out, out_count, out_type),
                                .receive = sb_equal_parts(in, in_count, in_type)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host.Scatter(out, out_count, out_type, in, in_count, in_type, root, handle);
}

int sb_mpi_Scatter_c(const void *out, MPI_Count out_count, MPI_Datatype out_type, void *in,
                     MPI_Count in_count, MPI_Datatype in_type, int root, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {.rules = &scatter,
                                .handle = handle,
                                .root = root,
                                .send = sb_equal_parts(out, out_count, out_type),
                                .receive = sb_equal_parts(in, in_count, in_type)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host_scatter_c(out, out_count, out_type, in, in_count, in_type, root, handle);
}

int sb_mpi_Scatterv(const void *out, const int out_counts[], const int out_places[],
                    MPI_Datatype out_type, void *in, int in_count, MPI_Datatype in_type, int root,
                    MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {
            .rules = &scatterv,
            .handle = handle,
            .root = root,
            .send = sb_varying_parts(out, SB_SMALL(out_counts), SB_SMALL(out_places), out_type),
            .receive = sb_equal_parts(in, in_count, in_type)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host.Scatterv(out, out_counts, out_places, out_type, in, in_count, in_type, root,
                            handle);
}

int sb_mpi_Scatterv_c(const void *out, const MPI_Count out_counts[], const MPI_Aint out_places[],
                      MPI_Datatype out_type, void *in, MPI_Count in_count, MPI_Datatype in_type,
                      int root, MPI_Comm handle)
{
    int result;

    if (!sb_host_calls(SB_CALLER()) && !sb_pass_at_once(handle)) {
        sb_parts_call_t call = {
            .rules = &scatterv,
            .handle = handle,
            .root = root,
            .send = sb_varying_parts(out, SB_LARGE(out_counts), SB_LARGE(out_places), out_type),
            .receive = sb_equal_parts(in, in_count, in_type)};
        if (sb_parts_serve(&call, &result))
            return result;
    }
    return sb_host_scatterv_c(out, out_counts, out_places, out_type, in, in_count, in_type, root,
                              handle);
}
