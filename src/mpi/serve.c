/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/serve.h"

#include "base/log.h"
#include "mpi/backend.h"

#include <stdatomic.h>

static const char *_Atomic last_algorithm;

const char *sb_last_algorithm(void)
{
    return atomic_load_explicit(&last_algorithm, memory_order_relaxed);
}

static void note_algorithm(const char *name)
{
    atomic_store_explicit(&last_algorithm, name, memory_order_relaxed);
}

void sb_pass(sb_comm_t *comm, sb_why_host_t why)
{
    if (comm != NULL)
        sb_comm_count_host(comm, why);
    note_algorithm("host");
}

bool sb_pass_at_once(MPI_Comm handle)
{
    sb_comm_t *comm = sb_comm_known(handle);

    if (comm == NULL || comm->team != NULL)
        return false;
    sb_pass(comm, comm->why);
    return true;
}

/* Asks nobody but the host, and it nothing that is collective. */
static sb_comm_t *first_use(MPI_Comm handle, bool (*is_right)(void *call, int rank, int size),
                            void *call)
{
    int inter = 0, size = 0, rank = 0;

    if (handle == sb_host.comm_null || !sb_comm_start() ||
        sb_host.Comm_test_inter(handle, &inter) != MPI_SUCCESS ||
        sb_host.Comm_size(handle, &size) != MPI_SUCCESS ||
        sb_host.Comm_rank(handle, &rank) != MPI_SUCCESS)
        return NULL;
    return !inter && !is_right(call, rank, size) ? NULL : sb_comm_get(handle);
}

sb_comm_t *sb_find_comm(MPI_Comm handle, bool (*is_right)(void *call, int rank, int size),
                        void *call)
{
    sb_comm_t *comm = sb_comm_known(handle);

    if (SB_UNLIKELY(comm == NULL))
        comm = first_use(handle, is_right, call);
    if (SB_LIKELY(comm != NULL && comm->team != NULL))
        return comm;
    sb_pass(comm, comm == NULL ? SB_WHY_ARGUMENTS : comm->why);
    return NULL;
}

static size_t algorithm_index(const sb_algorithm_t *algorithm)
{
    size_t i = 0;

    while (sb_algorithm_at(i) != algorithm)
        i++;
    return i;
}

void sb_count(sb_comm_t *comm, const sb_algorithm_t *algorithm, size_t bytes, uint64_t began)
{
    comm->calls[algorithm->collective]++;
    comm->bytes += bytes;
    note_algorithm(algorithm->name);
    if (SB_UNLIKELY(began != 0)) {
        comm->time_ns += sb_now_ns() - began;
        comm->by_algorithm[algorithm_index(algorithm)]++;
    }
}

static int error_class(sb_status_t status)
{
    switch (status) {
    case SB_ERR_TRUNCATE:
        return MPI_ERR_TRUNCATE;
    case SB_ERR_PEER_DEAD:
#if defined(MPIX_ERR_PROC_FAILED)
        return MPIX_ERR_PROC_FAILED;
#else
        return MPI_ERR_OTHER;
#endif
    case SB_ERR_REVOKED:
#if defined(MPIX_ERR_REVOKED)
        return MPIX_ERR_REVOKED;
#else
        return MPI_ERR_OTHER;
#endif
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

int sb_raise(sb_comm_t *comm, sb_collective_t collective, sb_status_t status, int code)
{
    if (code == MPI_SUCCESS)
        code = error_class(status);
    /* A program with a handler of its own is told of its own errors by that alone, as by the host.
     */
    if (status != SB_ERR_TRUNCATE || is_fatal(comm->comm))
        sb_log("%s on rank %d of %d: %s", sb_collective_function(collective), comm->rank,
               comm->size, sb_status_string(status));
    sb_host.Comm_call_errhandler(comm->comm, code);
    return code;
}
