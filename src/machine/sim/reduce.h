/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_SIM_REDUCE_H
#define SB_MACHINE_SIM_REDUCE_H

/*
 * The exhaustive part of the exploration: a depth-first walk over the choices, in which two
 * interleavings that differ only in the order of independent steps count as one.
 *
 * Each scheduling point is a node with the ranks that must still be tried there. When a rank's step
 * depends on an earlier step of another rank, and nothing orders the two, a rank that leads to the
 * other order is added to the node before that step (dynamic partial-order reduction). A rank whose
 * step was tried at a node need not be tried below it until something that depends on that step has
 * happened (sleep sets). Other choices are nodes of which every possibility is tried.
 *
 * A rank that waits for a word waits until its value is large enough, and words only grow.
 */

#include "machine/sim/explore.h"

typedef struct sb_reduce sb_reduce_t;

sb_reduce_t *sb_reduce_new(uint32_t ranks);
void sb_reduce_free(sb_reduce_t *reduce);

/* The next run; false when all are done. */
bool sb_reduce_begin(sb_reduce_t *reduce);

/* As sb_explore_next and sb_explore_choose. */
uint32_t sb_reduce_next(sb_reduce_t *reduce, const sb_sim_pending_t *pending);
uint32_t sb_reduce_choose(sb_reduce_t *reduce, uint32_t count);

#endif
