/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_SELF_H
#define SB_MPI_SELF_H

#include "mpi/host.h"

/*
 * A duplicate of MPI_COMM_SELF of our own, which returns errors; made at the first call. The null
 * communicator where the host has no MPI_COMM_SELF now (sessions; after MPI_Finalize).
 */
MPI_Comm sb_private_self(void);

/* Whether MPI_COMM_WORLD and MPI_COMM_SELF may be used now. */
bool sb_world_is_open(void);

/* Frees it, and hands out the null communicator from then on. */
void sb_private_self_free(void);

#endif
