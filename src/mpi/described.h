/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_DESCRIBED_H
#define SB_MPI_DESCRIBED_H

#include "mpi/comm.h"

/* Communicators as a trace has them (trace/trace.h). */

/* Asks the host for the communicator's members and name, and adds it to the trace. */
void sb_describe(sb_comm_t *comm);

/* MPI_COMM_WORLD, once calls are recorded: its first call need not. */
void sb_describe_world(void);

#endif
