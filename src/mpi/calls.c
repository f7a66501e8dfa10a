/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that stand in for MPI's. */
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

/*
 * What a function with counts does. The call is made only where it may be served: what is passed by
 * costs next to nothing.
 */
#define STAND_IN(enumerator, kind, serve, host, ...)                                               \
    sb_comm_t *comm = sb_enter(SB_CALLER(), handle, SB_##enumerator);                              \
    if (SB_LIKELY(comm != NULL)) {                                                                 \
        kind call = __VA_ARGS__;                                                                   \
        int result;                                                                                \
        if (SB_LIKELY(serve(comm, &call, &result)))                                                \
            return result;                                                                         \
    }                                                                                              \
    return host;

int sb_mpi_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm handle)
{
    STAND_IN(BCAST, bcast_t, serve_bcast, sb_host.Bcast(buffer, count, type, root, handle),
             {.buffer = buffer, .count = count, .type = type, .root = root})
}

int sb_mpi_Bcast_c(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm handle)
{
    STAND_IN(BCAST, bcast_t, serve_bcast,
             sb_host.Bcast_c != NULL ? sb_host.Bcast_c(buffer, count, type, root, handle)
                                     : sb_large_bcast(buffer, count, type, root, handle),
             {.buffer = buffer, .count = count, .type = type, .root = root})
}

/*
 * The others, each for small and for large counts: NUMBERS is SB_SMALL or SB_LARGE. How the parts
 * of their arguments (collectives.def) become those of a call, and of the host's function.
 */
#define CALLED_ONE .all = false
#define CALLED_ALL .all = true
#define CALLED_EQUAL(side, NUMBERS)                                                                \
    .kind = SB_BLOCKS_EQUAL, .type = side##_type, .count = side##_count
#define CALLED_VARYING(side, NUMBERS)                                                              \
    .kind = SB_BLOCKS_VARYING, .type = side##_type, .counts = NUMBERS(side##_counts),              \
    .places = NUMBERS(side##_places)
#define CALLED_TYPED(side, NUMBERS)                                                                \
    .kind = SB_BLOCKS_TYPED, .types = side##_types, .counts = NUMBERS(side##_counts),              \
    .places = NUMBERS(side##_places)
#define COUNTED_EQUAL(NUMBERS) .count = count
#define COUNTED_VARYING(NUMBERS) .counts = NUMBERS(counts)
#define CALLED_ROOTED .rooted = true, .root = root
#define CALLED_ROOTLESS .rooted = false

#define GIVEN_EQUAL(side) side##_count, side##_type
#define GIVEN_VARYING(side) side##_counts, side##_places, side##_type
#define GIVEN_TYPED(side) side##_counts, side##_places, side##_types
#define NUMBER_EQUAL count
#define NUMBER_VARYING counts
#define GIVEN_ROOTED root,
#define GIVEN_ROOTLESS

#define VECTOR(NUMBERS, enumerator, sends, out_how, receives, in_how, is_rooted)                   \
    {                                                                                              \
        .collective = SB_##enumerator, CALLED_##is_rooted,                                         \
        .send = {.buffer = (void *)(uintptr_t)out,                                                 \
                 CALLED_##sends,                                                                   \
                 CALLED_##out_how(out, NUMBERS)},                                                  \
        .receive = {.buffer = in, CALLED_##receives, CALLED_##in_how(in, NUMBERS)},                \
    }
#define VECTOR_GIVEN(sends, out_how, receives, in_how, is_rooted)                                  \
    (out, GIVEN_##out_how(out), in, GIVEN_##in_how(in), GIVEN_##is_rooted handle)

#define SB_VECTOR(enumerator, name, ...)                                                           \
    int sb_mpi_##name SB_VECTOR_TAKES(int, int, __VA_ARGS__)                                       \
    {                                                                                              \
        STAND_IN(enumerator, sb_vector_call_t, sb_vector_serve,                                    \
                 sb_host.name VECTOR_GIVEN(__VA_ARGS__),                                           \
                 VECTOR(SB_SMALL, enumerator, __VA_ARGS__))                                        \
    }                                                                                              \
    int sb_mpi_##name##_c SB_VECTOR_TAKES(MPI_Count, MPI_Aint, __VA_ARGS__)                        \
    {                                                                                              \
        STAND_IN(enumerator, sb_vector_call_t, sb_vector_serve,                                    \
                 sb_host.name##_c != NULL                                                          \
                     ? sb_host.name##_c VECTOR_GIVEN(__VA_ARGS__)                                  \
                     : sb_large_vector(                                                            \
                           &(sb_vector_call_t)VECTOR(SB_LARGE, enumerator, __VA_ARGS__), handle),  \
                 VECTOR(SB_LARGE, enumerator, __VA_ARGS__))                                        \
    }

#define REDUCTION(NUMBERS, enumerator, how, is_rooted)                                             \
    {                                                                                              \
        .collective = SB_##enumerator, CALLED_##is_rooted, .out = out, .in = in,                   \
        COUNTED_##how(NUMBERS), .type = type, .op = op                                             \
    }
#define REDUCTION_GIVEN(how, is_rooted) (out, in, NUMBER_##how, type, op, GIVEN_##is_rooted handle)

#define SB_REDUCTION(enumerator, name, ...)                                                        \
    int sb_mpi_##name SB_REDUCTION_TAKES(int, __VA_ARGS__)                                         \
    {                                                                                              \
        STAND_IN(enumerator, sb_reduce_call_t, sb_reduction_serve,                                 \
                 sb_host.name REDUCTION_GIVEN(__VA_ARGS__),                                        \
                 REDUCTION(SB_SMALL, enumerator, __VA_ARGS__))                                     \
    }                                                                                              \
    int sb_mpi_##name##_c SB_REDUCTION_TAKES(MPI_Count, __VA_ARGS__)                               \
    {                                                                                              \
        STAND_IN(                                                                                  \
            enumerator, sb_reduce_call_t, sb_reduction_serve,                                      \
            sb_host.name##_c != NULL                                                               \
                ? sb_host.name##_c REDUCTION_GIVEN(__VA_ARGS__)                                    \
                : sb_large_reduction(                                                              \
                      &(sb_reduce_call_t)REDUCTION(SB_LARGE, enumerator, __VA_ARGS__), handle),    \
            REDUCTION(SB_LARGE, enumerator, __VA_ARGS__))                                          \
    }
#include "mpi/collectives.def"

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
