/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_SERVE_H
#define SB_MPI_SERVE_H

#include "machine/machine.h"
#include "mpi/comm.h"
#include "mpi/report.h"

/* What the functions that stand in for MPI's have in common: counting, and raising errors. */

/* No machine has more; sums of sizes and headers cannot overflow. */
#define SB_BYTES_MOST ((size_t)1 << 60)

/* Counts a call that the host is about to serve. */
void sb_pass(sb_comm_t *comm, sb_why_host_t why);

/* Whether every call on this communicator is the host's; counts this one then. Asked first, so that
 * such a call costs next to nothing. */
bool sb_pass_at_once(MPI_Comm handle);

/*
 * The communicator, if calls can be served on it; else NULL, and the call is counted as the host's.
 * The record of a communicator is made at its first use. Making it is collective, so wrong
 * arguments come first: the host tells a rank that is wrong alone without asking the others.
 * `is_right(call, rank, size)`: whether Sobor may judge them.
 */
sb_comm_t *sb_find_comm(MPI_Comm handle, bool (*is_right)(void *call, int rank, int size),
                        void *call);

/* Counts a call that was served; `began`: when, or 0 if calls are not timed. */
void sb_count(sb_comm_t *comm, const sb_algorithm_t *algorithm, size_t bytes, uint64_t began);

/* The time if calls are timed, else 0. */
static inline uint64_t sb_clock_if_wanted(void)
{
    return SB_UNLIKELY(sb_report_wanted()) ? sb_now_ns() : 0;
}

/*
 * Raises the error on the user's error handler, which may not return. `code`: the host's own, or
 * MPI_SUCCESS where it has none. Returns what the call returns.
 */
int sb_raise(sb_comm_t *comm, sb_collective_t collective, sb_status_t status, int code);

/* What came of a call: SB_ERR_UNSUPPORTED: by agreement of all ranks the host has to serve it. */
typedef struct sb_outcome {
    sb_status_t status;
    int error; /* the host's own, or MPI_SUCCESS */
} sb_outcome_t;

/*
 * Counts the call, or raises its error, and sets what it returns. Returns false if it is the host's
 * after all.
 */
static inline bool sb_finish_call(sb_comm_t *comm, const sb_algorithm_t *algorithm, size_t bytes,
                                  uint64_t began, sb_outcome_t outcome, int *result)
{
    *result = MPI_SUCCESS;
    if (SB_LIKELY(outcome.status == SB_OK)) {
        sb_count(comm, algorithm, bytes, began);
        return true;
    }
    if (outcome.status == SB_ERR_UNSUPPORTED) {
        sb_pass(comm, SB_WHY_NO_RING);
        return false;
    }
    *result = sb_raise(comm, algorithm->collective, outcome.status, outcome.error);
    return true;
}

#endif
