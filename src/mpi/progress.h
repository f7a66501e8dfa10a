/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_PROGRESS_H
#define SB_MPI_PROGRESS_H

#include "mpi/host.h"

/*
 * Letting the host MPI make progress while a rank waits inside Sobor: it must still serve the
 * rendezvous and one-sided traffic of others.
 */

/* Prepares; once, before the first team. */
void sb_progress_start(void);

/* One poke. `context` is a pointer to the communicator of the team that waits. */
void sb_progress(void *context);

/* Gives back what sb_progress_start took from the host. Before its MPI_Finalize. */
void sb_progress_stop(void);

#endif
