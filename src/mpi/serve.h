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

#endif
