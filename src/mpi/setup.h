/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_SETUP_H
#define SB_MPI_SETUP_H

#include "mpi/comm.h"

/*
 * Looks at the communicator of a record, and makes its team or says why there is none (`team`,
 * `why`). Collective over the communicator.
 */
void sb_comm_setup(sb_comm_t *comm);

#endif
