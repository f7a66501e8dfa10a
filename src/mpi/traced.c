/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/traced.h"

#include "mpi/calls.h"
#include "mpi/recording.h"
#include "mpi/serve.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <string.h>

/* The call's communicator, described. NULL: the call, which is over, has found none. Nor is the
 * host asked again then: it would tell a handler of the program once more of what is none. */
static sb_comm_t *comm_of(MPI_Comm handle)
{
    sb_comm_t *comm = sb_comm_seen(handle);

    if (SB_UNLIKELY(comm == NULL))
        comm = sb_comm_find(handle);
    if (SB_UNLIKELY(comm != NULL && comm->traced == NULL))
        sb_recording_describe(comm);
    return comm;
}

/*
 * Bytes of a call, once it was successful: then what counts of its arguments is right. But MPICH 5
 * calls a call successful whose error a handler of the program has heard, and raises errors of
 * types on MPI_COMM_WORLD: so types are not asked before they are known to be good, and arrays may
 * be NULL.
 */
static uint64_t bytes_of(int64_t count, MPI_Datatype type)
{
    sb_type_t is;

    return count > 0 && sb_type_describe(type, &is) ? (uint64_t)count * is.size : 0;
}

#define AT(array, i) ((array) == NULL ? 0 : (array)[i])

#define SUM(counts, comm)                                                                          \
    ({                                                                                             \
        int64_t sum = 0;                                                                           \
        for (int peer = 0; peer < (comm)->size; peer++)                                            \
            sum += AT(counts, peer);                                                               \
        sum;                                                                                       \
    })

/* One block of this rank's own, of a side that has blocks for all; all that it has for all. */
#define OWN_EQUAL(side, comm) bytes_of(side##_count, side##_type)
#define OWN_VARYING(side, comm) bytes_of(AT(side##_counts, (comm)->rank), side##_type)
#define ALL_EQUAL OWN_EQUAL
#define ALL_VARYING(side, comm) bytes_of(SUM(side##_counts, comm), side##_type)
#define ALL_TYPED(side, comm)                                                                      \
    ({                                                                                             \
        uint64_t sum = 0;                                                                          \
        for (int peer = 0; peer < (comm)->size && side##_types != NULL; peer++)                    \
            sum += bytes_of(AT(side##_counts, peer), side##_types[peer]);                          \
        sum;                                                                                       \
    })

#define BYTES_MESSAGE(comm, rooted) bytes_of(count, type)
#define BYTES_ONE_ALL(comm, out_how, in_how)                                                       \
    (out == MPI_IN_PLACE ? OWN_##in_how(in, comm) : OWN_##out_how(out, comm))
#define BYTES_ALL_ONE(comm, out_how, in_how)                                                       \
    (in == MPI_IN_PLACE ? OWN_##out_how(out, comm) : OWN_##in_how(in, comm))
#define BYTES_ALL_ALL(comm, out_how, in_how)                                                       \
    (out == MPI_IN_PLACE ? ALL_##in_how(in, comm) : ALL_##out_how(out, comm))
#define BYTES_VECTOR(comm, sends, out_how, receives, in_how, rooted)                               \
    BYTES_##sends##_##receives(comm, out_how, in_how)
#define BYTES_REDUCTION(comm, how, rooted) bytes_of(COUNT_##how(comm), type)
#define COUNT_EQUAL(comm) count
#define COUNT_VARYING(comm) AT(counts, (comm)->rank)
#define ROOT_ROOTED root
#define ROOT_ROOTLESS -1
#define ROOT_MESSAGE(rooted) ROOT_##rooted
#define ROOT_VECTOR(sends, out_how, receives, in_how, rooted) ROOT_##rooted
#define ROOT_REDUCTION(how, rooted) ROOT_##rooted

/* Whether the arguments tell how many bytes it was. */
static bool is_clear(const sb_comm_t *comm, int error)
{
    return comm != NULL && error == MPI_SUCCESS && comm->traced->between == 0;
}

/* Before a call: what its record will need is brought near meanwhile. */
static void expect(MPI_Comm handle, sb_collective_t collective)
{
    const sb_comm_t *comm = sb_comm_seen(handle);

    sb_trace_expect(comm == NULL ? NULL : comm->traced, (uint8_t)collective);
}

static int note(const sb_comm_t *comm, sb_collective_t collective, const sb_trace_record_t *call)
{
    /* Relaxed: of this call. */
    const char *name = atomic_load_explicit(&sb_last_algorithm_name, memory_order_relaxed);

    sb_trace_add(comm == NULL ? sb_trace_self.comms : comm->traced, (uint8_t)collective,
                 name == sb_host_name ? NULL : name, call);
    return call->error;
}

/*
 * A call that comes from the host itself is its own business. The clock is read first of all, and
 * again when the record is there: whoever times the call from outside has recording in it too, and
 * where the program computed since the last call that is not little, as it comes from memory.
 */
#define RECORD(enumerator, host, served, is_root, bytes_on)                                        \
    uint64_t entered = sb_trace_entered();                                                         \
    uint64_t site = (uint64_t)(uintptr_t)SB_CALLER();                                              \
    if (SB_UNLIKELY(sb_host_calls_from(site)))                                                     \
        return host;                                                                               \
    if (SB_UNLIKELY(sb_trace_self.records == NULL))                                                \
        return served;                                                                             \
    expect(handle, SB_##enumerator);                                                               \
    int error = served;                                                                            \
    sb_comm_t *comm = comm_of(handle);                                                             \
    return note(comm, SB_##enumerator,                                                             \
                &(sb_trace_record_t){.entered = entered,                                           \
                                     .left = entered,                                              \
                                     .bytes = is_clear(comm, error) ? bytes_on : 0,                \
                                     .site = site,                                                 \
                                     .root = is_root,                                              \
                                     .error = error});

static int traced_Barrier(MPI_Comm handle)
{
    RECORD(BARRIER, sb_host.Barrier(handle), sb_mpi_Barrier(handle), -1, 0)
}

#define SB_COLLECTIVE(kind, enumerator, name, ...)                                                 \
    static int traced_##name SB_TAKES_##kind(int, int, __VA_ARGS__)                                \
    {                                                                                              \
        RECORD(enumerator, sb_host.name SB_GIVES_##kind(__VA_ARGS__),                              \
               sb_mpi_##name SB_GIVES_##kind(__VA_ARGS__), ROOT_##kind(__VA_ARGS__),               \
               BYTES_##kind(comm, __VA_ARGS__))                                                    \
    }                                                                                              \
    static int traced_##name##_c SB_TAKES_##kind(MPI_Count, MPI_Aint, __VA_ARGS__)                 \
    {                                                                                              \
        RECORD(enumerator, sb_host.name##_c SB_GIVES_##kind(__VA_ARGS__),                          \
               sb_mpi_##name##_c SB_GIVES_##kind(__VA_ARGS__), ROOT_##kind(__VA_ARGS__),           \
               BYTES_##kind(comm, __VA_ARGS__))                                                    \
    }
#include "mpi/collectives.def"

void *sb_traced_function(const char *name)
{
    static const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"Barrier", (void *)(uintptr_t)traced_Barrier},
#define SB_COLLECTIVE(kind, enumerator, name, ...)                                                 \
    {#name, (void *)(uintptr_t)traced_##name}, {#name "_c", (void *)(uintptr_t)traced_##name##_c},
#include "mpi/collectives.def"
    };

    for (size_t i = 0; sb_trace_is_wanted() && i < SB_COUNT_OF(functions); i++) {
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].function;
    }
    return NULL;
}
