/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOPOLOGY_LAUNCHER_H
#define SB_TOPOLOGY_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Ranks of this process's job on this node, as its launcher says in the environment (Open MPI,
 * Hydra, Slurm, MVAPICH). 0: not said.
 */
uint32_t sb_launcher_local_ranks(void);

/* Whether that is Hydra or its like, whatever mpirun of Open MPI has told it itself. To be called
 * before the above. */
void sb_launcher_set_pmi(bool pmi);

#endif
