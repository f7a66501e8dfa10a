/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_NODES_H
#define SB_MPI_NODES_H

#include "mpi/comm.h"

/*
 * The cluster of a communicator, or why it has none. Everything follows from what all its ranks
 * have told each other, so all find the same. `front` is the communicator's. `together`: all ranks
 * are on one node after all; then there is no cluster, and nothing is against a team. Collective.
 */
sb_why_host_t sb_nodes_set_up(sb_comm_t *comm, const sb_front_t *front, bool *together);

#endif
