/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_BASELINE_H
#define SB_BASELINE_BASELINE_H

#include "coll/coll.h"

/*
 * Algorithms that the others are compared with: published ones, and collectives made of messages
 * from rank to rank, as an MPI library without knowledge of shared memory has them.
 */

/* Lets this program find the baselines behind the algorithms of the library. To be called once. */
void sb_baselines_add(void);

#define SB_BASELINE(collective, name, text) extern const sb_algorithm_t sb_##collective##_##name;
#include "base/baselines.def"
#undef SB_BASELINE

#endif
