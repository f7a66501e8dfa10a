/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_TRIALS_H
#define SB_MPI_TRIALS_H

#include "mpi/comm.h"

/*
 * The trials of a communicator (select/trial.h). Members count the calls of each choice of the plan
 * alike, because they make the same calls in the same order, whatever becomes of each; the count is
 * taken before anything that may go another way at one rank alone.
 */

/* Takes the turn that is due at this call of a choice; afterwards it says who serves the call. */
void sb_trials_turn(sb_comm_t *comm, sb_planned_t *planned, sb_collective_t collective,
                    size_t bytes);

/* The call under trial is done. */
void sb_trials_end(sb_comm_t *comm);

/* The same, by the host. Returns what it returned. An error handler may have freed the communicator
 * meanwhile: there is no trial then. */
static inline int sb_trials_hosted(sb_comm_t *comm, int error)
{
    if (comm->trial != NULL)
        sb_trials_end(comm);
    return error;
}

#endif
