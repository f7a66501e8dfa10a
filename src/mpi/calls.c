/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions that stand in for MPI's, but for those that move parts (parts.h). Each decides,
 * from what all ranks know alike, whether its call is served by the team or goes to the host MPI:
 *
 *   the communicator has a team (agreed at its set-up);
 *   the algorithm for the packed bytes is one of ours (from the team's agreed settings).
 *
 * Arguments that are wrong go to the host, which raises its own error; a call that is wrong on one
 * rank only is erroneous anyway. A type that is not contiguous is no reason: its rank packs.
 */
#include "machine/machine.h"
#include "mpi/backend.h"
#include "mpi/comm.h"
#include "mpi/datatype.h"
#include "mpi/packer.h"
#include "mpi/progress.h"
#include "mpi/report.h"
#include "mpi/self.h"
#include "mpi/serve.h"

#include <limits.h>

int sb_mpi_Barrier(MPI_Comm handle)
{
    if (SB_UNLIKELY(sb_host_calls(SB_CALLER())))
        return sb_host.Barrier(handle);
    sb_comm_t *comm = sb_comm_get(handle);
    if (SB_UNLIKELY(comm == NULL || comm->team == NULL)) {
        sb_pass(comm, comm == NULL ? SB_WHY_ARGUMENTS : comm->why);
        return sb_host.Barrier(handle);
    }
    const sb_algorithm_t *algorithm = sb_planned(&comm->plan, SB_BARRIER, 0)->algorithm;
    if (SB_UNLIKELY(algorithm == NULL)) {
        sb_pass(comm, SB_WHY_ALGORITHM);
        return sb_host.Barrier(handle);
    }
    uint64_t began = sb_clock_if_wanted();
    sb_status_t status = comm->team->failure;
    if (SB_LIKELY(status == SB_OK))
        status = algorithm->barrier(comm->team);
    if (SB_UNLIKELY(status != SB_OK))
        return sb_raise(comm, SB_BARRIER, status, MPI_SUCCESS);
    /* Programs take it that what others sent before the barrier has arrived after it, and ask only
     * once (MPI_Win_test, MPI_Iprobe). The host's own barrier would have brought it along. */
    sb_progress(&comm->comm);
    sb_count(comm, algorithm, 0, began);
    return MPI_SUCCESS;
}

/* The arguments of a broadcast, for both kinds of count. */
typedef struct bcast_call {
    void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    int root;
    MPI_Comm handle;
    sb_type_t description;
    size_t bytes;
} bcast_call_t;

/* Whether the host has to judge the arguments. Fills bytes. */
static bool is_for_host(bcast_call_t *call, int size)
{
    if (call->count < 0 || call->root < 0 || call->root >= size || call->buffer == MPI_IN_PLACE)
        return true;
    if (!sb_type_describe(call->type, &call->description))
        return true;
    if (__builtin_mul_overflow((size_t)call->count, call->description.size, &call->bytes) ||
        call->bytes > SB_BYTES_MOST)
        return true;
    /* MPI_BOTTOM, with a type of absolute addresses, is no null pointer's misuse. */
    return call->bytes > 0 && call->buffer == NULL && call->description.contiguous;
}

/* For sb_find_comm. */
static bool is_right(void *call, int rank, int size)
{
    (void)rank;
    return !is_for_host(call, size);
}

static sb_status_t run_contiguous(const sb_algorithm_t *algorithm, sb_comm_t *comm,
                                  const bcast_call_t *call)
{
    sb_stream_t stream = {.base = call->buffer, .bytes = call->bytes};

    return algorithm->bcast(comm->team, (uint32_t)call->root, &stream);
}

static sb_status_t run_packed(const sb_algorithm_t *algorithm, sb_comm_t *comm,
                              const bcast_call_t *call, int *error)
{
    sb_packer_t packer;
    sb_stream_t stream;

    sb_packer_open(&packer, &stream, call->buffer, (size_t)call->count, call->type,
                   &call->description, call->handle);
    sb_status_t status = algorithm->bcast(comm->team, (uint32_t)call->root, &stream);
    *error = sb_packer_close(&packer);
    return status;
}

/* Serves the call; SB_ERR_UNSUPPORTED: by agreement of all ranks the host has to. */
static sb_status_t serve_bcast(sb_comm_t *comm, const sb_algorithm_t *algorithm,
                               const bcast_call_t *call, int *error)
{
    if (SB_UNLIKELY(comm->team->failure != SB_OK))
        return comm->team->failure;
    sb_status_t status = sb_algorithm_prepare(algorithm, comm->team, call->bytes);
    if (SB_UNLIKELY(status != SB_OK))
        return status;
    return call->description.contiguous ? run_contiguous(algorithm, comm, call)
                                        : run_packed(algorithm, comm, call, error);
}

/* Returns false if the call is the host's; else the call's result is in *result. */
static bool bcast(bcast_call_t *call, int *result)
{
    sb_comm_t *comm = sb_find_comm(call->handle, is_right, call);
    int error = MPI_SUCCESS;

    if (SB_UNLIKELY(comm == NULL))
        return false;
    if (SB_UNLIKELY(is_for_host(call, comm->size))) {
        sb_pass(comm, SB_WHY_ARGUMENTS);
        return false;
    }
    const sb_algorithm_t *algorithm = sb_planned(&comm->plan, SB_BCAST, call->bytes)->algorithm;
    if (SB_UNLIKELY(algorithm == NULL)) {
        sb_pass(comm, SB_WHY_ALGORITHM);
        return false;
    }
    if (SB_UNLIKELY(call->bytes == 0)) {
        comm->calls[SB_BCAST]++;
        *result = MPI_SUCCESS;
        return true;
    }
    uint64_t began = sb_clock_if_wanted();
    sb_status_t status = serve_bcast(comm, algorithm, call, &error);
    return sb_finish_call(comm, algorithm, call->bytes, began, (sb_outcome_t){status, error},
                          result);
}

int sb_mpi_Bcast(void *buffer, int elements, MPI_Datatype type, int root, MPI_Comm handle)
{
    int result;

    if (SB_UNLIKELY(sb_host_calls(SB_CALLER())))
        return sb_host.Bcast(buffer, elements, type, root, handle);
    bcast_call_t call = {buffer, elements, type, root, handle, {0}, 0};
    return bcast(&call, &result) ? result : sb_host.Bcast(buffer, elements, type, root, handle);
}

/*
 * The host's broadcast of a large count. A host without one gets a single element of a type that
 * holds them all, which has the same signature on every rank.
 */
static int host_bcast_large(void *buffer, MPI_Count elements, MPI_Datatype type, int root,
                            MPI_Comm handle)
{
    if (sb_host.bcast_c != NULL)
        return sb_host.bcast_c(buffer, elements, type, root, handle);
    if (elements <= INT_MAX)
        return sb_host.Bcast(buffer, (int)elements, type, root, handle);
    MPI_Datatype large;
    int error = sb_make_large_type(elements, type, &large);
    if (error != MPI_SUCCESS)
        return error;
    error = sb_host.Bcast(buffer, 1, large, root, handle);
    sb_host.Type_free(&large);
    return error;
}

int sb_mpi_Bcast_c(void *buffer, MPI_Count elements, MPI_Datatype type, int root, MPI_Comm handle)
{
    int result;

    if (SB_UNLIKELY(sb_host_calls(SB_CALLER())))
        return host_bcast_large(buffer, elements, type, root, handle);
    bcast_call_t call = {buffer, elements, type, root, handle, {0}, 0};
    return bcast(&call, &result) ? result : host_bcast_large(buffer, elements, type, root, handle);
}

/*
 * The attribute's deletion ends the record where the host calls it; hosts are known that leave it
 * out for some communicators.
 */
static int end_comm(MPI_Comm *handle, int (*end)(MPI_Comm *))
{
    sb_comm_t *comm = handle == NULL ? NULL : sb_comm_known(*handle);
    uintptr_t bits = handle == NULL ? 0 : SB_HANDLE_BITS(*handle);

    if (comm != NULL)
        sb_report_name(comm);
    int error = end(handle);
    if (error == MPI_SUCCESS && comm != NULL &&
        atomic_load_explicit(&comm->handle, memory_order_relaxed) == bits)
        sb_comm_end(comm);
    return error;
}

int sb_mpi_Comm_free(MPI_Comm *handle)
{
    return end_comm(handle, sb_host.Comm_free);
}

int sb_mpi_Comm_disconnect(MPI_Comm *handle)
{
    return end_comm(handle, sb_host.Comm_disconnect);
}

int sb_mpi_Finalize(void)
{
    sb_report_print();
    sb_arena_depart();
    sb_progress_stop();
    sb_private_self_free();
    return sb_host.Finalize();
}
