/* SPDX-License-Identifier: BSD-3-Clause */
/* What serves a communicator, or why nothing does. */
#include "mpi/serve.h"

#include "base/log.h"
#include "mpi/device.h"
#include "mpi/nodes.h"
#include "mpi/progress.h"
#include "mpi/windows.h"
#include "mpi/world.h"
#include "select/tuning.h"

#include <stdlib.h>
#include <string.h>

static sb_status_t exchange(void *context, const void *mine, void *all, size_t bytes)
{
    sb_comm_t *comm = context;
    int error = sb_host.Allgather(mine, (int)bytes, sb_host.byte, all, (int)bytes, sb_host.byte,
                                  comm->comm);

    sb_status_t status = sb_wire_status(error);
    /* A member that ended, or a revoked communicator, is said as such. */
    return status == SB_ERR_PEER_DEAD || status == SB_ERR_REVOKED || status == SB_OK
               ? status
               : SB_ERR_BOOTSTRAP;
}

static bool progress(void *context)
{
    sb_comm_t *comm = context;

    sb_progress(&comm->comm);
    return sb_has_windows();
}

/* A rank may wait for ranks that have turned away from a communicator that one of them revoked. */
static sb_status_t check(void *context)
{
    const sb_comm_t *comm = context;

    return sb_is_revoked(comm) ? SB_ERR_REVOKED : SB_OK;
}

static sb_why_host_t why_refused(sb_status_t status, sb_refusal_t refusal)
{
    if (status != SB_ERR_UNSUPPORTED)
        return SB_WHY_SETUP_FAILED;
    switch (refusal) {
    case SB_REFUSAL_FOREIGN:
        return SB_WHY_FOREIGN_RANKS;
    case SB_REFUSAL_NODES:
        return SB_WHY_SPANS_NODES;
    case SB_REFUSAL_DISABLED:
        return SB_WHY_DISABLED;
    case SB_REFUSAL_FRONT:
        return SB_WHY_DEVICE_MEMORY;
    default:
        return SB_WHY_NO_SHARED_MEMORY;
    }
}

/* Said once: it is the same for every communicator of the job. */
static void complain(sb_comm_t *comm, const sb_reason_t *reason)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (comm->why != SB_WHY_NO_SHARED_MEMORY || comm->rank != 0)
        return;
    if (!atomic_flag_test_and_set_explicit(&said, memory_order_relaxed))
        sb_log_once("shared memory not available (%s); calls go to the host MPI", reason->text);
}

/* Said once, like the above: an algorithm that was asked for by name cannot serve. */
static void tell_refused(sb_comm_t *comm)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    bool any = (comm->plan->ruled & (1u << SB_BARRIER)) != 0 ||
               strcmp(comm->plan->settings->algorithm[SB_BARRIER], "auto") != 0;

    if (!any || comm->rank != 0)
        return;
    sb_choice_t choice = sb_choose(SB_BARRIER, &comm->plan->shape, comm->plan->settings, 0, false);
    if (choice.refused != NULL && !atomic_flag_test_and_set_explicit(&said, memory_order_relaxed))
        sb_log_once("%s: %s cannot serve a communicator of %d ranks (%s); using %s",
                    (comm->plan->ruled & (1u << SB_BARRIER)) != 0 ? "SOBOR_TUNING"
                                                                  : "SOBOR_BARRIER_ALGORITHM",
                    choice.refused->name, comm->size, choice.reason, choice.algorithm->name);
}

/* The collectives of which some calls may be served: all others go by at once. */
static uint32_t offered(const sb_comm_t *comm)
{
    const sb_settings_t *settings = sb_server_settings(&comm->server);
    uint32_t offered = settings->collectives;

    for (sb_collective_t c = 0; c < SB_COLLECTIVES; c++) {
        if (strcmp(settings->algorithm[c], "host") == 0 && (comm->plan->ruled >> c & 1) == 0)
            offered &= ~(1u << c);
    }
    return offered;
}

/* How the communicator serves a team or a cluster. */
static sb_front_t front_of(sb_comm_t *comm, sb_members_t *members)
{
    bool apart = members->is_on_board && comm->comm == sb_host.comm_world;

    return (sb_front_t){.context = comm,
                        .allgather = apart ? sb_world_exchange : exchange,
                        .progress = progress,
                        .check = check,
                        /* This process may be the only one to object: that is agreed too. */
                        .objection =
                            comm->scratch == NULL || comm->plan == NULL ? 1 : sb_device_objection(),
                        .rules = sb_tuning_self(),
                        .profile = members->is_on_board ? sb_members_profile : NULL,
                        .profile_context = members};
}

/* A host's allgather may return while what it sent still needs the receiver's progress; the
 * receiver may turn to something that makes none, such as MPI_Comm_spawn. Nobody leaves before
 * everybody's exchange is complete: a team has seen to that. */
static void leave_together(const sb_comm_t *comm)
{
    sb_host.Barrier(comm->comm);
}

static void make_team(sb_comm_t *comm, const sb_front_t *front)
{
    sb_refusal_t refusal;
    sb_reason_t reason;
    sb_status_t status = sb_team_create(&comm->server.team, front, (uint32_t)comm->rank,
                                        (uint32_t)comm->size, &refusal, &reason);

    if (status == SB_ERR_UNSUPPORTED)
        leave_together(comm);
    if (status != SB_OK) {
        comm->why = why_refused(status, refusal);
        comm->lost = status == SB_ERR_MEMORY;
        complain(comm, &reason);
        return;
    }
    sb_shape_t shape = sb_team_shape(comm->server.team);
    sb_plan_start(comm->plan, &shape, &comm->server.team->settings);
    tell_refused(comm);
    sb_report_team(comm->server.team, comm->plan);
    comm->why = SB_WHY_ALGORITHM;
}

/* `front`: with no exchange but the host's. Where all ranks are together they get a team. */
static void make_cluster(sb_comm_t *comm, const sb_front_t *front)
{
    bool together;

    comm->why = sb_nodes_set_up(comm, front, &together);
    if (together) {
        make_team(comm, front);
        return;
    }
    if (comm->lost)
        return;
    leave_together(comm);
    if (comm->why != SB_WHY_NONE)
        return;
    sb_shape_t shape = sb_cluster_shape(comm->server.cluster);
    sb_plan_start(comm->plan, &shape, &comm->server.cluster->settings);
    sb_report_cluster(comm->server.cluster);
    comm->usage.nodes = comm->server.cluster->map.nodes;
    comm->why = SB_WHY_ALGORITHM;
}

static void make_server(sb_comm_t *comm, sb_members_t *members, bool spans)
{
    comm->scratch = sb_scratch_make(comm->size);
    comm->plan = malloc(sizeof *comm->plan);
    sb_front_t front = front_of(comm, members);

    /* Members who are on no board, or on another, count their sleeps elsewhere. */
    if (!members->is_on_board || spans)
        sb_sleepers_unknown();
    if (spans) {
        front.allgather = exchange;
        front.profile = NULL;
        make_cluster(comm, &front);
    } else {
        make_team(comm, &front);
    }
}

/* With the host's fault tolerance each call asks first whether the communicator is revoked. */
static void open_up(sb_comm_t *comm)
{
    comm->open = comm->usage.served ? offered(comm) : 0;
    if (!sb_host_revokes())
        return;
    comm->asking = comm->open;
    comm->open = 0;
}

/* What sb_node_of_world gives, in one word, so that any thread may ask; 0: nothing is known. */
static _Atomic uint64_t node_of_world;

/* `team`: NULL: there is none, or the rank is alone on its node. */
static void note_node(const sb_team_t *team)
{
    if (team == NULL)
        return;
    uint64_t processors = sb_min(team->processors, (uint32_t)INT32_MAX);

    /* Relaxed: there is nothing but the word itself. */
    atomic_store_explicit(&node_of_world,
                          (uint64_t)team->size << 32 | processors << 1 | team->oversubscribed,
                          memory_order_relaxed);
}

bool sb_node_of_world(uint32_t *ranks, uint32_t *processors, bool *oversubscribed)
{
    /* Relaxed: see note_node(). */
    uint64_t word = atomic_load_explicit(&node_of_world, memory_order_relaxed);

    *ranks = (uint32_t)(word >> 32);
    *processors = (uint32_t)word >> 1;
    *oversubscribed = (word & 1) != 0;
    return word != 0;
}

/* Makes the server, or says why there is none, and which collectives are open from now on. On a
 * rank that is lost they stay so: the host must not have any of its calls. */
static void set_up(sb_comm_t *comm, sb_members_t *members, sb_why_host_t why)
{
    bool spans = why == SB_WHY_SPANS_NODES && sb_world_is_whole();

    comm->why = why;
    if (spans || why == SB_WHY_NONE)
        make_server(comm, members, spans);
    comm->usage.served = sb_server_exists(&comm->server);
    if (!comm->lost)
        open_up(comm);
    if (comm->usage.served)
        sb_comm_tie(comm);
    if (comm->comm == sb_host.comm_world)
        note_node(comm->server.cluster == NULL ? comm->server.team : comm->server.cluster->team);
}

/* The call for which the server is made, the same for all of its ranks. Those on several nodes
 * count to another number than those of one, each of which may have its own. */
static uint64_t due_call(const sb_comm_t *comm, bool spans)
{
    if (comm->comm == sb_host.comm_world)
        return 1;
    return spans ? sb_world_serve_spanning_after() : sb_world_serve_after();
}

/* Where this node had less to count, calls were looked at that others have only counted: those that
 * went to the host for that are among the ones before. Wrong ones count nowhere. */
static void count_to(sb_comm_t *comm, uint64_t due)
{
    comm->due = due - sb_min(due, comm->usage.passed[SB_WHY_OPERATOR]);
    comm->asking = sb_is_new(comm) ? ~0u : 0;
    comm->open = ~comm->asking;
}

void sb_count_calls(sb_comm_t *comm)
{
    count_to(comm, sb_min(due_call(comm, false), due_call(comm, true)));
}

bool sb_first_use(sb_comm_t *comm)
{
    sb_members_t members;

    if (comm->lost)
        return false;
    sb_why_host_t why = sb_members_open(&members, comm->comm, comm->size);
    count_to(comm, due_call(comm, why == SB_WHY_SPANS_NODES));
    bool is_new = sb_is_new(comm);
    if (!is_new)
        set_up(comm, &members, why);
    sb_members_close(&members);
    return sb_server_exists(&comm->server) ||
           (!comm->lost && sb_pass(comm, is_new ? SB_WHY_NEW : comm->why) != NULL);
}
