/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_BARRIER_BARRIER_H
#define SB_COLL_BARRIER_BARRIER_H

#include "coll/coll.h"
#include "topology/levels.h"

/*
 * The barriers of a team. One team may run different ones after another: each counts in flags that
 * no other uses, or that all set to the same number of the barrier.
 */
extern const sb_algorithm_t sb_barrier_central;
extern const sb_algorithm_t sb_barrier_combining_tree;
extern const sb_algorithm_t sb_barrier_counter;
extern const sb_algorithm_t sb_barrier_dissemination;
extern const sb_algorithm_t sb_barrier_exchange;
extern const sb_algorithm_t sb_barrier_flat;
extern const sb_algorithm_t sb_barrier_flat_counter;
extern const sb_algorithm_t sb_barrier_flat_gather_release;
extern const sb_algorithm_t sb_barrier_mcs;
extern const sb_algorithm_t sb_barrier_tournament;
extern const sb_algorithm_t sb_barrier_tournament_tree;
extern const sb_algorithm_t sb_barrier_tree;

/* The hierarchical barrier over the set of levels s, a set of SB_LEVEL_BIT, is number s - 1. */
extern const sb_algorithm_t sb_barrier_hierarchical[SB_LEVELS_ALL];

#endif
