/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_BARRIER_BARRIER_H
#define SB_COLL_BARRIER_BARRIER_H

#include "coll/coll.h"
#include "topology/levels.h"

/*
 * The barriers of a team. One team may run different ones after another: each counts in flags that
 * no other uses, or that all set to the same number of the barrier.
 */

/* The hierarchical barrier over the set of levels s, a set of SB_LEVEL_BIT, is number s - 1. */
extern const sb_algorithm_t sb_barrier_hierarchical[SB_LEVELS_ALL];

#endif
