/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOPOLOGY_LAUNCHER_H
#define SB_TOPOLOGY_LAUNCHER_H

#include <stdint.h>

/*
 * Ranks of this process's job on this node, as its launcher says in the environment (Open MPI,
 * Hydra, Slurm, MVAPICH). 0: not said.
 */
uint32_t sb_launcher_local_ranks(void);

#endif
