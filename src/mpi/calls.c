/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that stand in for MPI's. */
#include "mpi/calls.h"

#include "base/config.h"
#include "coll/bcast/bcast.h"
#include "mpi/device.h"
#include "mpi/large.h"
#include "mpi/progress.h"
#include "mpi/recording.h"
#include "mpi/self.h"
#include "mpi/serve.h"
#include "mpi/summary.h"
#include "mpi/windows.h"
#include "mpi/world.h"

int sb_mpi_Barrier(MPI_Comm handle)
{
    sb_comm_t *comm;
    int result;

    if (SB_UNLIKELY(!sb_enter(SB_CALLER(), handle, SB_BARRIER, &comm, &result)))
        return result;
    if (SB_UNLIKELY(comm == NULL || !sb_has_server(comm)))
        return comm != NULL && sb_is_lost(comm, SB_BARRIER, &result) ? result
                                                                     : sb_host.Barrier(handle);
    sb_planned_t *planned = sb_choose_for(comm, SB_BARRIER, 0, false);
    if (SB_UNLIKELY(planned == NULL))
        return sb_host.Barrier(handle);
    uint64_t began = sb_clock_if_wanted(comm);
    sb_status_t status = sb_server_failure(&comm->server);
    if (SB_LIKELY(status == SB_OK))
        status = sb_server_barrier(&comm->server, planned->algorithm);
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

static bool measure_bcast(sb_comm_t *comm, bcast_t *bcast)
{
    if (bcast->buffer == MPI_IN_PLACE)
        return false;
    bcast->is = sb_type_of(comm, bcast->type, &bcast->room);
    if (bcast->is == NULL || !sb_message_bytes(bcast->count, bcast->is->size, &bcast->bytes))
        return false;
    return bcast->bytes == 0 || bcast->buffer != NULL ||
           !sb_type_begins_at_buffer(bcast->type, bcast->is);
}

static bool judge_bcast(sb_comm_t *comm, bcast_t *bcast)
{
    if (bcast->root < 0 || bcast->root >= comm->size)
        return false;
    if (SB_LIKELY(measure_bcast(comm, bcast)))
        return true;
    bcast->bytes = 0;
    return bcast->count == 0 && sb_nothing_passes(SB_BCAST, bcast->buffer, bcast->type);
}

static sb_status_t run_packed(sb_comm_t *comm, const sb_algorithm_t *algorithm,
                              const bcast_t *bcast, int *error)
{
    sb_packer_t packer;
    sb_stream_t stream;

    sb_packer_open(&packer, &stream, bcast->buffer, (size_t)bcast->count, bcast->type, bcast->is,
                   comm->comm);
    sb_status_t status = sb_server_bcast(&comm->server, algorithm, (uint32_t)bcast->root, &stream);
    *error = sb_packer_close(&packer);
    return status;
}

static sb_status_t run_bcast(sb_comm_t *comm, const sb_algorithm_t *algorithm, const bcast_t *bcast,
                             int *error)
{
    sb_stream_t stream = {.base = bcast->buffer, .bytes = bcast->bytes};

    if (SB_UNLIKELY(!bcast->is->contiguous || SB_DEVICE_HOLDS(bcast->buffer)))
        return run_packed(comm, algorithm, bcast, error);
    return sb_server_bcast(&comm->server, algorithm, (uint32_t)bcast->root, &stream);
}

/* Returns false if the call is the host's; else the call's result is in *result. */
static bool serve_bcast(sb_comm_t *comm, bcast_t *bcast, int *result)
{
    int error = MPI_SUCCESS;

    if (comm->rank == bcast->root)
        sb_fetch_sent(bcast->buffer);
    if (SB_UNLIKELY(!judge_bcast(comm, bcast)))
        return sb_pass(comm, SB_WHY_ARGUMENTS) != NULL;
    if (SB_UNLIKELY(!sb_has_server(comm)))
        return sb_is_lost(comm, SB_BCAST, result);
    sb_planned_t *planned = sb_choose_moving(comm, SB_BCAST, bcast->bytes);
    if (SB_UNLIKELY(planned == NULL))
        return false;
    uint64_t began = sb_clock_if_wanted(comm);
    /* What the algorithm needs is made when the root's announcement says so. */
    sb_status_t status = sb_server_failure(&comm->server);
    if (SB_LIKELY(bcast->bytes > 0 && status == SB_OK))
        status = run_bcast(comm, planned->algorithm, bcast, &error);
    if (SB_SHORT_IS_SUCCESS && SB_UNLIKELY(status == SB_ERR_SHORT))
        status = SB_OK;
    return sb_finish(comm, planned->algorithm, bcast->bytes, began, (sb_outcome_t){status, error},
                     result);
}

/*
 * The functions with counts, from sb_mpi_Bcast to sb_mpi_Exscan_c: NUMBERS is SB_SMALL or SB_LARGE.
 * How the parts of their arguments (collectives.def) become those of a call, and of the host's
 * function.
 */
#define CALL_ONE .all = false
#define CALL_ALL .all = true
#define CALL_EQUAL(side, NUMBERS)                                                                  \
    .kind = SB_BLOCKS_EQUAL, .type = side##_type, .count = side##_count
#define CALL_VARYING(side, NUMBERS)                                                                \
    .kind = SB_BLOCKS_VARYING, .type = side##_type, .counts = NUMBERS(side##_counts),              \
    .places = NUMBERS(side##_places)
#define CALL_TYPED(side, NUMBERS)                                                                  \
    .kind = SB_BLOCKS_TYPED, .types = side##_types, .counts = NUMBERS(side##_counts),              \
    .places = NUMBERS(side##_places)
#define CALL_COUNTS_EQUAL(NUMBERS) .count = count
#define CALL_COUNTS_VARYING(NUMBERS) .counts = NUMBERS(counts)
#define CALL_ROOTED .rooted = true, .root = root
#define CALL_ROOTLESS .rooted = false

/* For each kind: its calls, what serves them, and the arguments of both. */
#define TYPE_MESSAGE bcast_t
#define SERVE_MESSAGE serve_bcast
#define LARGE_MESSAGE(call, handle) sb_large_bcast(buffer, count, type, root, handle)
#define CALL_MESSAGE(NUMBERS, enumerator, rooted)                                                  \
    {                                                                                              \
        .buffer = buffer, .count = count, .type = type, .root = root                               \
    }

#define TYPE_VECTOR sb_vector_call_t
#define SERVE_VECTOR sb_vector_serve
#define LARGE_VECTOR sb_large_vector
#define CALL_VECTOR(NUMBERS, enumerator, sends, out_how, receives, in_how, is_rooted)              \
    {                                                                                              \
        .collective = SB_##enumerator, CALL_##is_rooted,                                           \
        .send = {.buffer = (void *)(uintptr_t)out, CALL_##sends, CALL_##out_how(out, NUMBERS)},    \
        .receive = {.buffer = in, CALL_##receives, CALL_##in_how(in, NUMBERS)},                    \
    }

#define TYPE_REDUCTION sb_reduce_call_t
#define SERVE_REDUCTION sb_reduction_serve
#define LARGE_REDUCTION sb_large_reduction
#define CALL_REDUCTION(NUMBERS, enumerator, how, is_rooted)                                        \
    {                                                                                              \
        .collective = SB_##enumerator, CALL_##is_rooted, .out = out, .in = in,                     \
        CALL_COUNTS_##how(NUMBERS), .type = type, .op = op                                         \
    }

/* Where it may be a trial's. */
#define HOSTED_MESSAGE(comm, host)                                                                 \
    if (SB_UNLIKELY((comm)->trial != NULL))                                                        \
        return sb_trials_hosted(comm, host);
#define HOSTED_VECTOR HOSTED_MESSAGE
#define HOSTED_REDUCTION(comm, host)

/* The call is made only where it may be served: what is passed by costs next to nothing. */
#define STAND_IN(kind, enumerator, host, ...)                                                      \
    sb_comm_t *comm;                                                                               \
    int result;                                                                                    \
    if (SB_UNLIKELY(!sb_enter(SB_CALLER(), handle, SB_##enumerator, &comm, &result)))              \
        return result;                                                                             \
    if (SB_LIKELY(comm != NULL)) {                                                                 \
        TYPE_##kind call = __VA_ARGS__;                                                            \
        if (SB_LIKELY(SERVE_##kind(comm, &call, &result)))                                         \
            return result;                                                                         \
        HOSTED_##kind(comm, host)                                                                  \
    }                                                                                              \
    return sb_hosted(SB_CALLER(), handle, host);
#define SB_COLLECTIVE(kind, enumerator, name, ...)                                                 \
    int sb_mpi_##name SB_TAKES_##kind(int, int, __VA_ARGS__)                                       \
    {                                                                                              \
        STAND_IN(kind, enumerator, sb_host.name SB_GIVES_##kind(__VA_ARGS__),                      \
                 CALL_##kind(SB_SMALL, enumerator, __VA_ARGS__))                                   \
    }                                                                                              \
    int sb_mpi_##name##_c SB_TAKES_##kind(MPI_Count, MPI_Aint, __VA_ARGS__)                        \
    {                                                                                              \
        STAND_IN(kind, enumerator,                                                                 \
                 sb_host.name##_c != NULL                                                          \
                     ? sb_host.name##_c SB_GIVES_##kind(__VA_ARGS__)                               \
                     : LARGE_##kind(&(TYPE_##kind)CALL_##kind(SB_LARGE, enumerator, __VA_ARGS__),  \
                                    handle),                                                       \
                 CALL_##kind(SB_LARGE, enumerator, __VA_ARGS__))                                   \
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

/* What no host gives. */
#define UNTOUCHED ((MPI_Win)(intptr_t)-1)

/* Open MPI's windows of shared memory are the loads and stores of those who use them. */
#if defined(SB_ABI_OMPI40)
#define SHARED_ASKS false
#else
#define SHARED_ASKS true
#endif

/*
 * Gives the program what the host has made for it, if anything; those that the host makes for
 * itself are its own business. MPICH 5 calls a call successful whose error a handler of the program
 * has heard: then there is no window. `asks`: who uses it may have to ask the others for something.
 */
static int hand_over(int error, MPI_Win made, MPI_Win *window, MPI_Comm comm, bool asks,
                     const void *caller)
{
    if (made == UNTOUCHED)
        return error;
    *window = made;
    if (made != sb_host.win_null && error == MPI_SUCCESS && asks &&
        sb_config()->enabled.number != 0 && !sb_host_calls_from((uint64_t)(uintptr_t)caller))
        sb_windows_count(made, comm);
    return error;
}

/* The host's function has `place` in place of the program's `window`. */
#define MAKE(asks, host)                                                                           \
    MPI_Win made = UNTOUCHED, *place = window == NULL ? NULL : &made;                              \
    int error = host;                                                                              \
    return hand_over(error, made, window, comm, asks, SB_CALLER());

/* With a large displacement unit: the host's function, or, where it has none, that for small ones
 * with `small`. */
#define MAKE_LARGE(asks, name, large_arguments, small_arguments)                                   \
    MPI_Win made = UNTOUCHED, *place = window == NULL ? NULL : &made;                              \
    int small, error;                                                                              \
    if (sb_host.name##_c != NULL)                                                                  \
        error = sb_host.name##_c large_arguments;                                                  \
    else if ((error = sb_large_unit(unit, &small, comm)) == MPI_SUCCESS)                           \
        error = sb_host.name small_arguments;                                                      \
    return hand_over(error, made, window, comm, asks, SB_CALLER());

int sb_mpi_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm,
                      MPI_Win *window)
{
    MAKE(true, sb_host.Win_create(base, size, unit, info, comm, place))
}

int sb_mpi_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base,
                        MPI_Win *window)
{
    MAKE(true, sb_host.Win_allocate(size, unit, info, comm, base, place))
}

int sb_mpi_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base,
                               MPI_Win *window)
{
    MAKE(SHARED_ASKS, sb_host.Win_allocate_shared(size, unit, info, comm, base, place))
}

int sb_mpi_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *window)
{
    MAKE(true, sb_host.Win_create_dynamic(info, comm, place))
}

int sb_mpi_Win_create_c(void *base, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                        MPI_Win *window)
{
    MAKE_LARGE(true, Win_create, (base, size, unit, info, comm, place),
               (base, size, small, info, comm, place))
}

int sb_mpi_Win_allocate_c(MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void *base,
                          MPI_Win *window)
{
    MAKE_LARGE(true, Win_allocate, (size, unit, info, comm, base, place),
               (size, small, info, comm, base, place))
}

int sb_mpi_Win_allocate_shared_c(MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                                 void *base, MPI_Win *window)
{
    MAKE_LARGE(SHARED_ASKS, Win_allocate_shared, (size, unit, info, comm, base, place),
               (size, small, info, comm, base, place))
}

/* ---- beginning and end ---- */

/*
 * A tool's functions that the program comes to first. Most call PMPI_X, which are those below. Some
 * take the host's from dlsym(RTLD_NEXT), as Darshan does, and that leads past Sobor where the tool
 * was loaded after it: as a library that the program is linked with, for one. So what belongs
 * around the host's function is done around the tool's too, unless it was done by then. What a tool
 * that goes past does in its MPI_Init comes before Sobor's own: sb_world_catch_up. Of a tool before
 * MPI_Finalize nobody knows whether it goes past before it has: the host calls for the end itself.
 */
static struct {
    __typeof__(&PMPI_Init) Init;
    __typeof__(&PMPI_Init_thread) Init_thread;
    __typeof__(&PMPI_Finalize) Finalize;
    __typeof__(&PMPI_Comm_free) Comm_free;
    __typeof__(&PMPI_Comm_disconnect) Comm_disconnect;
} tool;

/* How far this process has come, by whichever way. */
static enum stage { BEFORE, INITIALISING, INITIALISED, FINALISED } stage;

/* Whether it comes there for the first time. */
static bool enter(enum stage next)
{
    bool first = stage < next;

    if (first)
        stage = next;
    return first;
}

static void initialise(void)
{
    if (!enter(INITIALISING))
        return;
    sb_world_join();
    sb_recording_expect();
}

/* What asks the host and lets it go on. */
static void end_self(void)
{
    sb_progress_stop();
    sb_private_self_free();
}

static bool self_ends; /* by the host's call, later in MPI_Finalize */

static void finalise(void)
{
    if (!enter(FINALISED))
        return;
    sb_recording_end();
    sb_summary_write();
    sb_comm_report();
    sb_comm_finalize();
    sb_arena_depart();
    if (!self_ends)
        end_self();
}

/* The attributes of MPI_COMM_SELF that are the program's are deleted before: their callbacks may
 * make calls that other ranks have made before MPI_Finalize, and ask the host as those did. */
static void self_has_ended(void)
{
    finalise();
    end_self();
}

/* What follows the host's initialisation, which has come to this. */
static int initialised(int error)
{
    if (!enter(INITIALISED))
        return error;
    sb_world_tell(error == MPI_SUCCESS);
    if (error == MPI_SUCCESS) {
        self_ends = sb_self_ends_by(self_has_ended);
        sb_recording_begin();
    }
    return error;
}

int sb_mpi_Init(int *argc, char ***argv)
{
    initialise();
    return initialised(sb_host.Init(argc, argv));
}

int sb_mpi_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    initialise();
    return initialised(sb_host.Init_thread(argc, argv, required, provided));
}

int sb_mpi_Finalize(void)
{
    finalise();
    return sb_host.Finalize();
}

static int around_Init(int *argc, char ***argv)
{
    initialise();
    return initialised(tool.Init(argc, argv));
}

static int around_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    initialise();
    return initialised(tool.Init_thread(argc, argv, required, provided));
}

static int around_Finalize(void)
{
    return tool.Finalize();
}

/* The host gives the handle to another communicator: the record must have ended by then. */
static int around_Comm_free(MPI_Comm *handle)
{
    return sb_comm_free(handle, tool.Comm_free);
}

static int around_Comm_disconnect(MPI_Comm *handle)
{
    return sb_comm_free(handle, tool.Comm_disconnect);
}

void *sb_around_tool(const char *name, void *function)
{
#define SB_AROUND(wrapped)                                                                         \
    if (strcmp(name, #wrapped) == 0) {                                                             \
        tool.wrapped = (__typeof__(tool.wrapped))(uintptr_t)function;                              \
        return (void *)(uintptr_t)around_##wrapped;                                                \
    }
    SB_AROUND(Init)
    SB_AROUND(Init_thread)
    SB_AROUND(Finalize)
    SB_AROUND(Comm_free)
    SB_AROUND(Comm_disconnect)
    return function;
}
