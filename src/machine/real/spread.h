/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MACHINE_REAL_SPREAD_H
#define SB_MACHINE_REAL_SPREAD_H

#include "machine/primitive.h"

#include <sched.h>

/*
 * Ranks that share processors, spread evenly over them. A call takes as long as the ranks of the
 * fullest processor need to run one after the other: eight ranks on two processors take twice as
 * long where six of them share one. The system leaves them so for tenths of a second and more. No
 * processor is ever idle, since who waits gives it away and is given it again, and who has run a
 * moment ago is left where its caches are.
 *
 * So each rank says in memory of the job on which processor it runs and how often it has given that
 * away, and looks now and then whether another one that it may run on has two ranks less. Then it
 * goes there: its affinity is that processor for as long as it takes the system to move it, and
 * what it was before from then on. Of the ranks of a processor the last one goes, and those before
 * it only if it does not, so that one goes at a time.
 *
 * Nobody goes where a rank is busy, that is, waits much less than this one: the root of a row of
 * gathers has the others wait for it, and runs the more the fewer are with it.
 */

/* Processors of higher numbers are left alone. */
#define SB_SPREAD_PROCESSORS 1024

/* What a rank says, in a line of its own: how often it has given its processor away, and in the
 * last bits where it runs, plus one; 0: it is not known, or not of this node. */
typedef struct sb_spread_place {
    _Alignas(SB_LINE) sb_word64_t word;
} sb_spread_place_t;

/* What is known of one at a look. */
typedef struct sb_spread_rank {
    uint64_t gave;   /* when it was looked at, */
    uint64_t lately; /* and since the look before */
    uint32_t place;  /* as above */
} sb_spread_rank_t;

/*
 * From now on this process says in `places` where it runs, and goes elsewhere if need be. It is the
 * rank `own` of so many.
 */
void sb_spread_share(sb_spread_place_t *places, uint32_t ranks, uint32_t own);

/* The calling thread has given its processor away and has got one again. */
void sb_spread_given(void);

/*
 * The processor of `allowed` to which the rank should go, or -1. `looks`: in so many looks before
 * this one it was found to be on one that is too full; `full` says so of this one.
 */
int sb_spread_target(const sb_spread_rank_t *ranks, uint32_t count, uint32_t own,
                     const cpu_set_t *allowed, uint32_t looks, bool *full);

/* How often this process went. For tests. */
uint32_t sb_spread_moves(void);

#endif
