/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_SETUP_H
#define SB_MPI_SETUP_H

#include "mpi/comm.h"

/* Counts a call, and says whether it is time to set up: SOBOR_SERVE_AFTER. */
bool sb_comm_is_due(sb_comm_t *comm);

/*
 * For a record without a team, at a call that could be served: makes the team, or says why there is
 * none (`team`, `why`), and which collectives are open from now on. Collective over the
 * communicator.
 */
void sb_comm_setup(sb_comm_t *comm);

#endif
