/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/recording.h"

#include "base/hash.h"
#include "machine/machine.h"
#include "mpi/clocks.h"

#include <stdio.h>
#include <string.h>

/* ---- communicators, as a trace has them ---- */

/* Of all ranks of a group in MPI_COMM_WORLD, by one step for each. */
static uint64_t hash_members(MPI_Group group)
{
    uint64_t hash = SB_HASH_START;
    MPI_Group world;
    int size = 0, there = 0;

    sb_host.Group_size(group, &size);
    sb_host.Comm_group(sb_host.comm_world, &world);
    for (int rank = 0; rank < size; rank++) {
        sb_host.Group_translate_ranks(group, 1, &rank, world, &there);
        hash = sb_hash_bytes(hash, &there, sizeof there);
    }
    sb_host.Group_free(&world);
    return hash;
}

/* Both groups of an intercommunicator see the same number. */
static uint64_t hash_comm(MPI_Comm comm, bool between)
{
    MPI_Group group;

    sb_host.Comm_group(comm, &group);
    uint64_t hash = hash_members(group);
    sb_host.Group_free(&group);
    if (between) {
        sb_host.Comm_remote_group(comm, &group);
        hash += hash_members(group) + 1;
        sb_host.Group_free(&group);
    }
    return hash;
}

void sb_recording_describe(sb_comm_t *comm)
{
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    int length;
    bool between = comm->why == SB_WHY_INTERCOMMUNICATOR;
    sb_trace_comm_t traced = {.members = hash_comm(comm->comm, between),
                              .rank = comm->rank,
                              .size = comm->size,
                              .between = between};

    if (sb_host.Comm_get_name(comm->comm, name, &length) == MPI_SUCCESS)
        snprintf(traced.name, sizeof traced.name, "%.*s", (int)sizeof traced.name - 1, name);
    comm->traced = sb_trace_add_comm(&traced);
}

/* Its first call need not be recorded. */
static void describe_world(void)
{
    sb_comm_t *comm;
    int result;

    if (sb_comm_get(sb_host.comm_world, &comm, &result) && comm != NULL && comm->traced == NULL)
        sb_recording_describe(comm);
}

/* ---- beginning and end ---- */

/* The first words of what the host says of itself. */
static void name_library(void)
{
    const char *text = sb_host_version();

    snprintf(sb_trace_self.header.library, sizeof sb_trace_self.header.library, "%.*s",
             (int)strcspn(text, ",\n"), text);
}

void sb_recording_expect(void)
{
    if (sb_trace_is_wanted())
        sb_trace_note_signals();
}

void sb_recording_begin(void)
{
    int rank, size, threads;

    if (!sb_trace_is_wanted())
        return;
    sb_host.Comm_rank(sb_host.comm_world, &rank);
    sb_host.Comm_size(sb_host.comm_world, &size);
    sb_host.Query_thread(&threads);
    sb_trace_self.is_shared = threads == MPI_THREAD_MULTIPLE;
    bool records = sb_trace_begin(rank, size);
    /* Also a rank that cannot record takes part: the others wait for it. */
    sb_clocks_begin(&sb_trace_self.header);
    if (!records)
        return;
    name_library();
    describe_world();
    sb_trace_watch_signals();
    sb_trace_self.header.opened = sb_now_ns();
}

void sb_recording_end(void)
{
    if (!sb_trace_is_wanted())
        return;
    if (sb_trace_self.header.closed == 0)
        sb_trace_self.header.closed = sb_now_ns();
    sb_clocks_end(&sb_trace_self.header);
    sb_trace_finish(SB_TRACE_FINALIZED);
}
