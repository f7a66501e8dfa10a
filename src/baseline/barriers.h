/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_BARRIERS_H
#define SB_BASELINE_BARRIERS_H

#include "coll/barrier/barrier.h"
#include "coll/resources.h"

/*
 * What barriers show beside the control block, in a block of each rank. Every number in it only
 * grows. A barrier's way in prepares nothing: so each of them asks for the blocks first.
 */

/* A counter and the number that who comes last writes: one record, on one line. */
typedef struct sb_meeting {
    _Alignas(SB_FLAG_STRIDE) sb_counter_t counter;
    sb_flag_t flag;
} sb_meeting_t;

/* The same on two lines: who waits for the number does not hold the counter. */
typedef struct sb_tree_node {
    _Alignas(SB_FLAG_STRIDE) sb_counter_t counter;
    sb_wide_flag_t done;
} sb_tree_node_t;

/* Flags of several writers that one rank looks at together: on one line. */
#define SB_CHILDREN 4

typedef struct sb_children {
    _Alignas(SB_FLAG_STRIDE) sb_flag_t flag[SB_CHILDREN];
} sb_children_t;

/* Rounds of a dissemination over the most ranks one node may have (2^16). */
#define SB_ROUNDS 16

typedef struct sb_barrier_block {
    sb_meeting_t meeting;             /* any rank: the central barrier's */
    sb_tree_node_t node;              /* any rank: a combining tree's */
    sb_children_t children;           /* MCS tree: flag i is written by child i */
    sb_wide_flag_t signal[SB_ROUNDS]; /* dissemination: round r is written by the rank 2^r before */
} sb_barrier_block_t;

static inline sb_barrier_block_t *sb_barrier_block(const sb_team_t *team, uint32_t rank)
{
    char *base = team->resource[SB_RESOURCE_BARRIERS]->bases[rank];

    return (sb_barrier_block_t *)(void *)base;
}

/*
 * Makes the team's blocks at the first call. Collective; all get the same outcome: SB_OK, or
 * SB_ERR_UNSUPPORTED, then and for good.
 */
sb_status_t sb_barrier_blocks_prepare(sb_team_t *team);

/*
 * All that this rank speaks for have arrived: it says so, and is woken by a line of its own. It has
 * to wake others in turn.
 */
static inline sb_status_t sb_barrier_be_woken(sb_team_t *team, uint64_t number)
{
    sb_status_t status = SB_OK;

    if (team->rank != 0) {
        sb_flag_publish(&team->self->arrived.flag, number);
        status = sb_flag_wait(&team->self->woken.flag, number, &team->waiter);
    }
    if (status == SB_OK)
        sb_team_all_arrived(team);
    return status;
}

#endif
