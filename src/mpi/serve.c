/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/serve.h"

#include "base/log.h"
#include "coll/vector/vector.h"

SB_EVERY_CALL const char *_Atomic sb_last_algorithm_name;
const char sb_host_name[] = "host";

bool sb_is_revoked(const sb_comm_t *comm)
{
    int revoked = 0;

    return sb_host.is_revoked != NULL && sb_host.is_revoked(comm->comm, &revoked) == MPI_SUCCESS &&
           revoked != 0;
}

static sb_comm_t *admit_new(sb_comm_t *comm)
{
    if (sb_is_new(comm))
        return sb_pass(comm, SB_WHY_NEW);
    comm->open = comm->asking;
    comm->asking = 0;
    return comm;
}

sb_comm_t *sb_admit_asking(sb_comm_t *comm, sb_collective_t collective)
{
    if ((comm->asking >> collective & 1) == 0)
        return sb_pass(comm, comm->why);
    if (!sb_server_exists(&comm->server))
        return admit_new(comm);
    if (sb_is_revoked(comm))
        return sb_leave_to_host();
    sb_fetch_near(comm);
    return comm;
}

/* Whether the host has found it in the arguments, before it asked other ranks. */
static bool is_of_arguments(int error)
{
    static const int of_arguments[] = {MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE,
                                       MPI_ERR_ROOT,   MPI_ERR_OP,    MPI_ERR_ARG};
    int class = MPI_SUCCESS;

    sb_host.Error_class(error, &class);
    for (size_t i = 0; i < SB_COUNT_OF(of_arguments); i++) {
        if (class == of_arguments[i])
            return true;
    }
    return false;
}

void sb_refused(const void *caller, MPI_Comm handle, int error)
{
    sb_comm_t *comm = sb_comm_find(handle);

    if (comm == NULL || comm->asking == 0 || sb_server_exists(&comm->server) ||
        comm->usage.passed[SB_WHY_NEW] == 0 || sb_host_calls_from((uint64_t)(uintptr_t)caller) ||
        !is_of_arguments(error))
        return;
    comm->usage.passed[SB_WHY_NEW]--;
    comm->usage.passed[SB_WHY_ARGUMENTS]++;
}

const sb_type_t *sb_other_known_type(sb_comm_t *comm, MPI_Datatype type, sb_type_t *room)
{
    const sb_type_t *known = sb_predefined_find(type);

    if (known != NULL) {
        comm->type = type;
        comm->type_is = known;
        return known;
    }
    return sb_type_recall(type, room) ? room : NULL;
}

const sb_type_t *sb_other_type(sb_comm_t *comm, MPI_Datatype type, sb_type_t *room)
{
    const sb_type_t *known = sb_other_known_type(comm, type, room);

    if (known != NULL)
        return known;
    return sb_type_describe(type, room) ? room : NULL;
}

sb_status_t sb_prepare_for(sb_comm_t *comm, sb_planned_t *planned, size_t bytes)
{
    if (sb_server_failure(&comm->server) != SB_OK)
        return sb_server_failure(&comm->server);
    /* What the largest message of the class needs: so the class is ready or is not. */
    size_t most = planned->made ? sb_class_bytes(sb_size_class(bytes)) : bytes;
    sb_status_t status = sb_server_prepare(&comm->server, planned->algorithm, most);
    planned->ready = status == SB_OK && planned->made;
    if (comm->server.team != NULL)
        sb_mesh_near(comm->server.team, comm->near);
    return status;
}

static int or_other(int class)
{
    return class != MPI_SUCCESS ? class : MPI_ERR_OTHER;
}

static int error_class(sb_status_t status)
{
    switch (status) {
    case SB_ERR_MEMORY:
        return MPI_ERR_NO_MEM;
    case SB_ERR_TRUNCATE:
        return MPI_ERR_TRUNCATE;
    case SB_ERR_SHORT:
        return MPI_ERR_OTHER;
    case SB_ERR_PEER_DEAD:
        return or_other(sb_host.class_proc_failed);
    case SB_ERR_REVOKED:
        return or_other(sb_host.class_revoked);
    default:
        return MPI_ERR_INTERN;
    }
}

/* Whether the host will end the job, and say no more than the class of the error. */
static bool is_fatal(MPI_Comm comm)
{
    MPI_Errhandler handler;

    if (sb_host.Comm_get_errhandler(comm, &handler) != MPI_SUCCESS)
        return true;
    bool fatal = handler == sb_host.errors_are_fatal;
    sb_host.Errhandler_free(&handler);
    return fatal;
}

/* Raises the error on the user's error handler, which may not return. `code`: the host's own, or
 * MPI_SUCCESS where it has none. Returns what the call returns. */
static int raise(sb_comm_t *comm, sb_collective_t collective, sb_status_t status, int code)
{
    if (code == MPI_SUCCESS)
        code = error_class(status);
    /* A program with a handler of its own is told of its own errors by that alone, as by the host.
     */
    bool own = status == SB_ERR_TRUNCATE || status == SB_ERR_SHORT;
    if (!own || is_fatal(comm->comm))
        sb_log("%s on rank %d of %d: %s", sb_collective_function(collective), comm->rank,
               comm->size, sb_status_string(status));
    sb_host.Comm_call_errhandler(comm->comm, code);
    return code;
}

bool sb_is_lost(sb_comm_t *comm, sb_collective_t collective, int *result)
{
    if (!comm->lost)
        return false;
    *result = raise(comm, collective, SB_ERR_MEMORY, MPI_SUCCESS);
    return true;
}

bool sb_finish_otherwise(sb_comm_t *comm, const sb_algorithm_t *algorithm, size_t bytes,
                         uint64_t began, sb_outcome_t outcome, int *result)
{
    if (outcome.status == SB_ERR_UNSUPPORTED) {
        /* A cluster refuses a reduction whose order it cannot keep, and others for want of memory.
         */
        bool order = comm->server.cluster != NULL && algorithm->collective >= SB_REDUCE;
        sb_pass(comm, order ? SB_WHY_ORDER : SB_WHY_NO_RING);
        return false;
    }
    if (comm->trial != NULL)
        sb_trials_end(comm);
    if (outcome.status != SB_OK) {
        *result = raise(comm, algorithm->collective, outcome.status, outcome.error);
        return true;
    }
    if (comm->usage.by_algorithm != NULL) {
        comm->usage.time_ns += sb_now_ns() - began;
        sb_report_count(&comm->usage, algorithm);
    }
    return sb_finish(comm, algorithm, bytes, 0, outcome, result);
}
