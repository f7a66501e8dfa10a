/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that stand in for MPI's barrier, broadcast, and the ends of communicators and MPI.
 */
#include "coll/bcast/bcast.h"
#include "mpi/backend.h"
#include "mpi/device.h"
#include "mpi/large.h"
#include "mpi/progress.h"
#include "mpi/self.h"
#include "mpi/serve.h"
#include "mpi/world.h"

int sb_mpi_Barrier(MPI_Comm handle)
{
    sb_comm_t *comm = sb_enter(SB_CALLER(), handle, SB_BARRIER);
    int result;

    if (SB_UNLIKELY(comm == NULL || !sb_has_team(comm)))
        return sb_host.Barrier(handle);
    sb_planned_t *planned = sb_choose_for(comm, SB_BARRIER, 0, false);
    if (SB_UNLIKELY(planned == NULL))
        return sb_host.Barrier(handle);
    uint64_t began = sb_clock_if_wanted(comm);
    sb_status_t status = comm->team->failure;
    if (SB_LIKELY(status == SB_OK))
        status = planned->algorithm->barrier(comm->team);
    /* Programs take it that what others sent before the barrier has arrived after it, and ask only
     * once (MPI_Win_test, MPI_Iprobe). The host's own barrier would have brought it along. */
    sb_progress(&comm->comm);
    return sb_finish(comm, planned->algorithm, 0, began, (sb_outcome_t){status, MPI_SUCCESS},
                     &result)
               ? result
               : sb_host.Barrier(handle);
}

/* The arguments of a broadcast, for both kinds of count, and what they come to. */
typedef struct bcast {
    void *buffer;
    int64_t count;
    MPI_Datatype type;
    int root;
    const sb_type_t *is;
    sb_type_t room; /* of a type that is not predefined */
    size_t bytes;
} bcast_t;

static bool judge_bcast(sb_comm_t *comm, bcast_t *bcast)
{
    if (bcast->root < 0 || bcast->root >= comm->size || bcast->buffer == MPI_IN_PLACE)
        return false;
    bcast->is = sb_type_of(comm, bcast->type, &bcast->room);
    if (bcast->is == NULL || !sb_packed_bytes(bcast->count, bcast->is->size, &bcast->bytes))
        return false;
    /* MPI_BOTTOM, with a type of absolute addresses, is no null pointer's misuse. */
    return bcast->bytes == 0 || bcast->buffer != NULL || !bcast->is->contiguous;
}

static sb_status_t run_packed(sb_comm_t *comm, const sb_algorithm_t *algorithm,
                              const bcast_t *bcast, int *error)
{
    sb_packer_t packer;
    sb_stream_t stream;

    sb_packer_open(&packer, &stream, bcast->buffer, (size_t)bcast->count, bcast->type, bcast->is,
                   comm->comm);
    sb_status_t status = sb_bcast(algorithm, comm->team, (uint32_t)bcast->root, &stream);
    *error = sb_packer_close(&packer);
    return status;
}

static sb_status_t run_bcast(sb_comm_t *comm, const sb_algorithm_t *algorithm, const bcast_t *bcast,
                             int *error)
{
    sb_stream_t stream = {.base = bcast->buffer, .bytes = bcast->bytes};

    if (SB_UNLIKELY(!bcast->is->contiguous || SB_DEVICE_HOLDS(bcast->buffer)))
        return run_packed(comm, algorithm, bcast, error);
    return sb_bcast(algorithm, comm->team, (uint32_t)bcast->root, &stream);
}

/* Returns false if the call is the host's; else the call's result is in *result. */
static bool serve_bcast(sb_comm_t *comm, bcast_t *bcast, int *result)
{
    int error = MPI_SUCCESS;

    if (SB_UNLIKELY(!judge_bcast(comm, bcast)))
        return sb_pass(comm, SB_WHY_ARGUMENTS) != NULL;
    if (SB_UNLIKELY(!sb_has_team(comm)))
        return false;
    sb_planned_t *planned = sb_choose_for(comm, SB_BCAST, bcast->bytes, false);
    if (SB_UNLIKELY(planned == NULL))
        return false;
    uint64_t began = sb_clock_if_wanted(comm);
    /* What the algorithm needs is made when the root's announcement says so. */
    sb_status_t status = comm->team->failure;
    if (SB_LIKELY(bcast->bytes > 0 && status == SB_OK))
        status = run_bcast(comm, planned->algorithm, bcast, &error);
    if (SB_SHORT_IS_SUCCESS && SB_UNLIKELY(status == SB_ERR_SHORT))
        status = SB_OK;
    return sb_finish(comm, planned->algorithm, bcast->bytes, began, (sb_outcome_t){status, error},
                     result);
}

int sb_mpi_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm handle)
{
    sb_comm_t *comm = sb_enter(SB_CALLER(), handle, SB_BCAST);
    int result;

    if (SB_LIKELY(comm != NULL)) {
        bcast_t bcast = {.buffer = buffer, .count = count, .type = type, .root = root};
        if (SB_LIKELY(serve_bcast(comm, &bcast, &result)))
            return result;
    }
    return sb_host.Bcast(buffer, count, type, root, handle);
}

int sb_mpi_Bcast_c(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm handle)
{
    sb_comm_t *comm = sb_enter(SB_CALLER(), handle, SB_BCAST);
    int result;

    if (SB_LIKELY(comm != NULL)) {
        bcast_t bcast = {.buffer = buffer, .count = count, .type = type, .root = root};
        if (SB_LIKELY(serve_bcast(comm, &bcast, &result)))
            return result;
    }
    return sb_host.Bcast_c != NULL ? sb_host.Bcast_c(buffer, count, type, root, handle)
                                   : sb_large_bcast(buffer, count, type, root, handle);
}

int sb_mpi_Comm_free(MPI_Comm *handle)
{
    return sb_comm_free(handle, sb_host.Comm_free);
}

int sb_mpi_Comm_disconnect(MPI_Comm *handle)
{
    return sb_comm_free(handle, sb_host.Comm_disconnect);
}

int sb_mpi_Init(int *argc, char ***argv)
{
    sb_world_join();
    int error = sb_host.Init(argc, argv);
    sb_world_tell(error == MPI_SUCCESS);
    return error;
}

int sb_mpi_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    sb_world_join();
    int error = sb_host.Init_thread(argc, argv, required, provided);
    sb_world_tell(error == MPI_SUCCESS);
    return error;
}

int sb_mpi_Finalize(void)
{
    sb_comm_report();
    sb_arena_depart();
    sb_progress_stop();
    sb_private_self_free();
    return sb_host.Finalize();
}
