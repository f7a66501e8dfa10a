/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_BARRIER_BARRIER_H
#define SB_COLL_BARRIER_BARRIER_H

#include "coll/coll.h"
#include "topology/levels.h"

/*
 * The barriers of a team. One team may run different ones after another: each counts in flags that
 * no other uses, or that all set to the same number of the barrier.
 */

/* Waits until the rank has said that all it speaks for have arrived. */
static inline sb_status_t sb_barrier_await(const sb_team_t *team, uint32_t rank, uint64_t number)
{
    return sb_flag_wait(&team->lanes[rank]->arrived.flag, number, &team->waiter);
}

/* All that this rank speaks for have arrived: rank 0 writes one number on which the others spin. */
static inline sb_status_t sb_barrier_meet_at_root(sb_team_t *team, uint64_t number)
{
    sb_status_t status = SB_OK;

    if (team->rank == 0) {
        sb_flag_publish(&team->self->released.flag, number);
    } else {
        sb_flag_publish(&team->self->arrived.flag, number);
        status = sb_flag_wait(&team->lanes[0]->released.flag, number, &team->waiter);
    }
    if (status == SB_OK)
        sb_team_all_arrived(team);
    return status;
}

/* The same, but this rank is woken by a line of its own. It has to wake others in turn. */
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

/* The hierarchical barrier over the set of levels s, a set of SB_LEVEL_BIT, is number s - 1. */
extern const sb_algorithm_t sb_barrier_hierarchical[SB_LEVELS_ALL];

#endif
