/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/world.h"

#include "base/build.h"
#include "base/config.h"
#include "mpi/prices.h"
#include "mpi/progress.h"
#include "mpi/self.h"
#include "mpi/windows.h"
#include "segment/board.h"
#include "segment/roster.h"
#include "select/tuning.h"
#include "trace/trace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

_Static_assert(sizeof(sb_profile_t) <= SB_BOARD_TEXT, "a profile fits the board");
_Static_assert(sizeof(sb_hello_t) <= SB_BOARD_BOX && sizeof(sb_reason_t) <= SB_BOARD_BOX,
               "what a set-up exchanges fits the board");

static sb_job_t job;
static bool job_is_known;
static atomic_bool decided_without;   /* a communicator was left to the host for want of a board */
static _Thread_local bool is_joining; /* between sb_world_join and sb_world_tell */
static bool is_alone;
static bool is_whole;  /* all of the job have signed, with this build; read by MPI_Init's thread */
static bool is_traced; /* all of the job record calls, in one format */
static bool is_listed; /* this rank has signed that it records: so the list tells of the others */
static uint64_t serve_spanning_after; /* as rank 0 has signed */
static pthread_once_t job_once = PTHREAD_ONCE_INIT;

static void read_job(void)
{
    bool read = sb_job_read(&job, strstr(sb_host_version(), "Open MPI") != NULL);

    is_alone = read && job.size == 1;
    job_is_known = read && !is_alone;
}

/*
 * Then who is on no board takes no part, and nobody is asked. Also where this rank came past
 * sb_world_join, or has used communicators before it: the others do not count on it.
 */
static bool has_job(void)
{
    pthread_once(&job_once, read_job);
    return job_is_known;
}

/* A job on one node needs no list but its board. */
static bool has_roster(void)
{
    return job.local < job.size &&
           (sb_config()->cluster.number != SB_CLUSTER_OFF || sb_trace_is_wanted());
}

/* Open MPI 5 does not find its place on the node where PMIx was used before MPI_Init. */
static bool is_open_mpi_4(void)
{
    return strstr(sb_host_version(), "Open MPI v4") != NULL;
}

static void sign(void)
{
    bool takes_part = sb_config()->cluster.number != SB_CLUSTER_OFF;
    sb_signature_t signature = {.build = takes_part ? sb_build_id() : 0,
                                .serve_after = sb_config()->serve_after.number,
                                .traces = sb_trace_is_wanted() ? SB_TRACE_VERSION : 0};

    if (has_roster())
        sb_roster_sign(is_open_mpi_4() ? &sb_roster_pmix : &sb_roster_pmi, job.rank, &signature);
}

void sb_world_join(void)
{
    bool known = has_job();
    bool gauged = !is_alone && sb_prices_read(known ? job.local : 0);

    /* Relaxed: a program does not use communicators and initialise MPI at the same time. */
    if (known && job.size > 0 && !atomic_load_explicit(&decided_without, memory_order_relaxed))
        sb_board_join(&job, gauged);
    if (known)
        sign();
    is_joining = known;
}

static bool is_as_launched(void)
{
    int rank = -1, size = -1;

    sb_host.Comm_rank(sb_host.comm_world, &rank);
    sb_host.Comm_size(sb_host.comm_world, &size);
    return rank == (int)job.rank && size == (int)job.size;
}

static bool progress(void *context)
{
    (void)context;
    sb_progress(&sb_host.comm_world);
    return sb_has_windows();
}

static void read_roster(void)
{
    if (!has_roster()) {
        sb_roster_abstain();
        return;
    }
    sb_roster_verdict_t verdict = sb_roster_judge(job.size, progress);
    is_whole = verdict.whole;
    is_traced = verdict.traced;
    is_listed = sb_trace_is_wanted() && sb_roster_read(job.rank).traces != 0;
    serve_spanning_after = verdict.serve_after;
    sb_roster_close();
}

/* The region from which the first teams take their blocks: had early, where nobody waits for it. */
static void prepare_memory(void)
{
    sb_block_t block;
    sb_reason_t reason;

    if (sb_arena_take(&block, sb_control_bytes(SB_SLOTS), SB_ARENA_ANY, sb_max(job.local, 1),
                      &reason) == SB_OK)
        sb_arena_give(&block);
}

void sb_world_tell(bool initialised)
{
    sb_profile_t profile;

    if (!is_joining)
        return;
    is_joining = false;
    if (!initialised || !is_as_launched()) {
        sb_board_tell(NULL, 0);
        sb_roster_abstain();
        return;
    }
    read_roster();
    sb_prices_measure();
    sb_profile_self(&profile);
    const sb_rules_t *rules = sb_tuning_self();
    profile.rules = rules == NULL ? 0 : rules->count;
    if (profile.greeting.enabled)
        prepare_memory();
    sb_board_tell(&profile, sizeof profile);
}

void sb_world_catch_up(void)
{
    if (is_joining && sb_world_is_open())
        sb_world_tell(true);
}

uint64_t sb_world_key(void)
{
    return has_job() ? job.key : 0;
}

bool sb_world_is_one_node(void)
{
    return has_job() && job.size > 0 && job.local == job.size;
}

/* That all run with Sobor is the user's word; it is taken for this too where nobody else tells. */
bool sb_world_is_traced(void)
{
    return is_traced || (!is_listed && sb_config()->cluster.number == SB_CLUSTER_ON);
}

uint64_t sb_world_serve_after(void)
{
    return has_job() ? sb_board_serve_after() : 1;
}

/* One by one: a buffer that this rank alone could not have would make it decide by itself. */
static int world_rank(const sb_members_t *members, int rank)
{
    int there;

    if (members->is_world)
        return rank;
    return sb_host.Group_translate_ranks(members->group, 1, &rank, members->world, &there) ==
                   MPI_SUCCESS
               ? there
               : MPI_UNDEFINED;
}

const sb_profile_t *sb_members_profile(void *members, uint32_t rank)
{
    return sb_board_told((uint32_t)world_rank(members, (int)rank), progress);
}

bool sb_world_is_whole(void)
{
    return sb_world_is_open() && (is_whole || sb_config()->cluster.number == SB_CLUSTER_ON);
}

uint64_t sb_world_serve_spanning_after(void)
{
    if (!has_job())
        return 1;
    return is_whole ? serve_spanning_after : sb_config()->serve_after.number;
}

static sb_why_host_t judge_profiles(const sb_profile_t *first, const sb_profile_t *other)
{
    /* Where every rank of the node has come, or of the world, those that have not are elsewhere. */
    if (first == NULL || other == NULL)
        return sb_world_is_whole() || sb_board_is_full() ? SB_WHY_SPANS_NODES : SB_WHY_ABSENT;
    return first->greeting.enabled && other->greeting.enabled ? SB_WHY_NONE : SB_WHY_DISABLED;
}

static sb_why_host_t more_of(sb_why_host_t why, sb_why_host_t next)
{
    return next == SB_WHY_NONE ? why : next;
}

/*
 * Processes that were spawned, or that have connected, may run without Sobor, and would not take
 * part in its set-up. Every member of a communicator with them finds one that is foreign to it, so
 * all decide alike. So they do where all are of one world: they are on one board, or one of those
 * that a member finds is not on its own.
 */
static sb_why_host_t judge(sb_members_t *members)
{
    sb_why_host_t why = SB_WHY_NONE;
    const sb_profile_t *first = NULL;

    for (int rank = 0; rank < members->size; rank++) {
        int there = world_rank(members, rank);
        if (there == MPI_UNDEFINED)
            return SB_WHY_FOREIGN_RANKS;
        /* That some are elsewhere is known to all; what one rank says, to those of its node. */
        if (!members->is_on_board || (why != SB_WHY_NONE && why != SB_WHY_DISABLED))
            continue;
        const sb_profile_t *profile = sb_board_told((uint32_t)there, progress);
        if (rank == 0)
            first = profile;
        why = more_of(why, judge_profiles(first, profile));
    }
    return why;
}

/*
 * Sessions without MPI_Init: a rank without Sobor would be waited for, and there is no board that
 * tells of it. Others may come by MPI_Init: they must not find this rank on theirs afterwards.
 */
bool sb_world_goes_without(void)
{
    if (sb_world_is_open() || !has_job())
        return false;
    atomic_store_explicit(&decided_without, true, memory_order_relaxed);
    return true;
}

sb_why_host_t sb_members_open(sb_members_t *members, MPI_Comm comm, int size)
{
    bool open = sb_world_is_open();

    *members = (sb_members_t){.size = size,
                              .is_world = !open || comm == sb_host.comm_world,
                              .is_on_board = open && has_job()};
    if (!members->is_world) {
        sb_host.Comm_group(comm, &members->group);
        sb_host.Comm_group(sb_host.comm_world, &members->world);
    }
    return sb_world_goes_without() ? SB_WHY_ABSENT : judge(members);
}

void sb_members_close(sb_members_t *members)
{
    if (members->is_world)
        return;
    sb_host.Group_free(&members->group);
    sb_host.Group_free(&members->world);
}

sb_status_t sb_world_exchange(void *context, const void *mine, void *all, size_t bytes)
{
    (void)context;
    return sb_board_exchange(mine, all, bytes, progress);
}
