/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_RECORDING_H
#define SB_MPI_RECORDING_H

#include "mpi/comm.h"

/* Where calls are recorded (trace/trace.h): after the host's MPI_Init and before its MPI_Finalize.
 * Collective over the ranks of several nodes. */
void sb_recording_begin(void);
void sb_recording_end(void);

/* Before the host's MPI_Init. */
void sb_recording_expect(void);

/* Asks the host for the communicator's members and name, and adds it to the trace. */
void sb_recording_describe(sb_comm_t *comm);

#endif
