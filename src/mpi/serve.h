/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_SERVE_H
#define SB_MPI_SERVE_H

#include "machine/machine.h"
#include "mpi/comm.h"
#include "mpi/trials.h"

#include <string.h>

/*
 * What the functions that stand in for MPI's have in common, in the order in which a call goes
 * through it:
 *
 *   sb_enter      the record, unless the call is the host's at the first look
 *   ...           the arguments, by the function itself: wrong ones go to the host, which raises
 *                 its own error; a call that is wrong on one rank only is erroneous anyway
 *   sb_has_server the team or cluster; collective when it is made; without one
 *   sb_is_lost    whether that is an error, or the call is the host's
 *   sb_choose_for the algorithm, or that the host is the better choice; of what only moves data,
 *                 sb_choose_moving
 *   sb_make_ready what the algorithm needs; collective when it is made
 *   sb_finish     counting, or raising the error
 */

/* Of this process's last call: "host" where that served it, NULL before the first. */
extern const char *_Atomic sb_last_algorithm_name;
extern const char sb_host_name[];

/* Notes that the host is about to serve a call, and returns NULL. */
static inline void *sb_leave_to_host(void)
{
    atomic_store_explicit(&sb_last_algorithm_name, sb_host_name, memory_order_relaxed);
    return NULL;
}

/* The same, and counts it. */
static inline void *sb_pass(sb_comm_t *comm, sb_why_host_t why)
{
    comm->usage.passed[why]++;
    return sb_leave_to_host();
}

/* Each of these lines has the address of the next, and would be waited for in its turn. */
static inline void sb_fetch_near(const sb_comm_t *comm)
{
    if (SB_UNLIKELY(comm->server.team == NULL))
        return;
    sb_fetch_ahead(comm->server.team, 2 * (size_t)SB_LINE);
    for (int i = 0; i < SB_NEAR_LINES; i++)
        sb_fetch_ahead(comm->near[i], 1);
}

/* Whether the call at hand is one before SOBOR_SERVE_AFTER. Its arguments are not looked at: if
 * they are wrong the host says so, and the call is taken back (sb_refused). */
static inline bool sb_is_new(const sb_comm_t *comm)
{
    return comm->usage.passed[SB_WHY_NEW] + 1 < comm->due;
}

/* Whether the host knows that the communicator is revoked: its own calls on it return that. */
bool sb_is_revoked(const sb_comm_t *comm);

/* As sb_admit, of a new communicator, or where the host has to be asked first. */
sb_comm_t *sb_admit_asking(sb_comm_t *comm, sb_collective_t collective);

/* The call on this record, if it may be served. */
static inline sb_comm_t *sb_admit(sb_comm_t *comm, sb_collective_t collective)
{
    if (SB_UNLIKELY(comm == NULL))
        return sb_leave_to_host();
    if (SB_UNLIKELY((comm->open >> collective & 1) == 0))
        return comm->asking == 0 ? sb_pass(comm, comm->why) : sb_admit_asking(comm, collective);
    sb_fetch_near(comm);
    return comm;
}

/*
 * The record, if the call may be served; else *comm is NULL and the call the host's, and counted
 * unless it comes from the host MPI itself, or its communicator is being freed. `caller`: the
 * stand-in's SB_CALLER(). False: an error was raised, as sb_comm_get says; the call is over then
 * and returns *result.
 */
SB_INLINED bool sb_enter(const void *caller, MPI_Comm handle, sb_collective_t collective,
                         sb_comm_t **comm, int *result)
{
    *comm = NULL;
    if (sb_host_calls_from((uint64_t)(uintptr_t)caller))
        return true;
    sb_comm_t *seen = sb_comm_seen(handle);
    if (SB_UNLIKELY(seen == NULL)) {
        sb_comm_t *found; /* *comm stays in a register as long as nobody has its address */
        if (!sb_comm_get(handle, &found, result))
            return false;
        seen = found;
    }
    *comm = sb_admit(seen, collective);
    return true;
}

/*
 * The host has returned an error from a call that was its own. One that it found in the arguments
 * is taken back from those of a new communicator: the rank may be the only one to make such a call,
 * and would come to the set-up before the others.
 */
void sb_refused(const void *caller, MPI_Comm handle, int error);

/* What the host has returned. */
static inline int sb_hosted(const void *caller, MPI_Comm handle, int error)
{
    if (SB_UNLIKELY(error != MPI_SUCCESS))
        sb_refused(caller, handle, error);
    return error;
}

/* What this rank sends will be read: it begins to come near while the call is looked at. */
static inline void sb_fetch_sent(const void *buffer)
{
    if (SB_LIKELY(buffer != MPI_IN_PLACE))
        sb_fetch_ahead(buffer, 1);
}

/* A predefined type's description is found at one look if the last call's type was the same. */
const sb_type_t *sb_other_type(sb_comm_t *comm, MPI_Datatype type, sb_type_t *room);
const sb_type_t *sb_other_known_type(sb_comm_t *comm, MPI_Datatype type, sb_type_t *room);

/* The type, described where it lasts or in `room`. NULL: the host should judge it. */
static inline const sb_type_t *sb_type_of(sb_comm_t *comm, MPI_Datatype type, sb_type_t *room)
{
    if (SB_LIKELY(comm->type == type && comm->type_is != NULL))
        return comm->type_is;
    return sb_other_type(comm, type, room);
}

/* The same if it was described before. NULL: it was not looked at. */
static inline const sb_type_t *sb_known_type(sb_comm_t *comm, MPI_Datatype type, sb_type_t *room)
{
    if (SB_LIKELY(comm->type == type && comm->type_is != NULL))
        return comm->type_is;
    return sb_other_known_type(comm, type, room);
}

/* No machine has more; sums of sizes and headers cannot overflow. */
#define SB_BYTES_MOST ((size_t)1 << 60)

/* The packed bytes of so many elements of `size`. False: the host has to judge the count. */
static inline bool sb_message_bytes(int64_t count, size_t size, size_t *bytes)
{
    return count >= 0 && !__builtin_mul_overflow((size_t)count, size, bytes) &&
           *bytes <= SB_BYTES_MOST;
}

/* Sets up the server, unless ranks on several nodes count further. Collective. False: the call is
 * the host's, and counted. */
bool sb_first_use(sb_comm_t *comm);

/* The ranks of MPI_COMM_WORLD on this node, the processors that they may use together, and whether
 * some have to share one. False: no team of them is known. */
bool sb_node_of_world(uint32_t *ranks, uint32_t *processors, bool *oversubscribed);

/*
 * Whether this rank had no memory to take part in the set-up. The host must not have its calls
 * then, as the others wait in the set-up's own: an error is raised, and the call returns *result.
 */
bool sb_is_lost(sb_comm_t *comm, sb_collective_t collective, int *result);

/* Whether there is a server. The arguments must have been judged: wrong ones may be wrong on one
 * rank alone, which must be told without asking the others. */
static inline bool sb_has_server(sb_comm_t *comm)
{
    return sb_server_exists(&comm->server) || sb_first_use(comm);
}

/* The choice for a call of so many bytes; NULL: the host, and the call is counted. */
static inline sb_planned_t *sb_choose_for(sb_comm_t *comm, sb_collective_t collective, size_t bytes,
                                          bool ordered)
{
    sb_planned_t *planned = sb_planned(comm->plan, collective, bytes, ordered);

    return SB_LIKELY(planned->algorithm != NULL) ? planned
                                                 : sb_pass(comm, sb_why_chosen(comm, collective));
}

/* The same of an operation that only moves data: now and then host and Sobor are tried against each
 * other. Every member comes here at the same calls, with the same choice. */
static inline sb_planned_t *sb_choose_moving(sb_comm_t *comm, sb_collective_t collective,
                                             size_t bytes)
{
    sb_planned_t *planned = sb_planned(comm->plan, collective, bytes, false);

    if (SB_UNLIKELY(--planned->until == 0))
        sb_trials_turn(comm, planned, collective, bytes);
    if (SB_LIKELY(planned->algorithm != NULL))
        return planned;
    return sb_pass(comm, planned->why != 0 ? (sb_why_host_t)planned->why
                                           : sb_why_chosen(comm, collective));
}

/* Prepares the server for the algorithm. SB_ERR_UNSUPPORTED: by agreement of all ranks the host has
 * to serve the call. */
sb_status_t sb_prepare_for(sb_comm_t *comm, sb_planned_t *planned, size_t bytes);

static inline sb_status_t sb_make_ready(sb_comm_t *comm, sb_planned_t *planned, size_t bytes)
{
    if (SB_LIKELY(planned->ready && sb_server_failure(&comm->server) == SB_OK))
        return SB_OK;
    return sb_prepare_for(comm, planned, bytes);
}

/* What came of a call. `error`: the host's own, or MPI_SUCCESS. */
typedef struct sb_outcome {
    sb_status_t status;
    int error;
} sb_outcome_t;

/* The time if calls are timed, else 0. */
static inline uint64_t sb_clock_if_wanted(const sb_comm_t *comm)
{
    return SB_UNLIKELY(comm->timed) ? sb_now_ns() : 0;
}

/* As sb_finish, of a call that failed, is the host's after all, or is timed. */
bool sb_finish_otherwise(sb_comm_t *comm, const sb_algorithm_t *algorithm, size_t bytes,
                         uint64_t began, sb_outcome_t outcome, int *result);

/*
 * Counts the call, or raises its error, and sets what it returns. Returns false if it is the host's
 * after all. `began`: when, or 0 if calls are not timed.
 */
static inline bool sb_finish(sb_comm_t *comm, const sb_algorithm_t *algorithm, size_t bytes,
                             uint64_t began, sb_outcome_t outcome, int *result)
{
    if (SB_UNLIKELY(outcome.status != SB_OK || began != 0))
        return sb_finish_otherwise(comm, algorithm, bytes, began, outcome, result);
    comm->usage.calls[algorithm->collective]++;
    comm->usage.bytes += bytes;
    atomic_store_explicit(&sb_last_algorithm_name, algorithm->name, memory_order_relaxed);
    *result = MPI_SUCCESS;
    return true;
}

#endif
