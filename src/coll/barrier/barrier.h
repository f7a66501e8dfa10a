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
    return sb_flag_wait(&team->controls[rank]->arrived.flag, number, &team->waiter);
}

/* The leader of a group waits for its other members. */
static inline sb_status_t sb_barrier_gather(sb_team_t *team, const sb_group_t *group,
                                            uint64_t number)
{
    sb_status_t status = SB_OK;

    for (uint32_t i = 1; status == SB_OK && i < group->size; i++)
        status = sb_barrier_await(team, group->members[i], number);
    return status;
}

/*
 * At the end of a barrier of two ranks: the other one has read this one's line, and the store of
 * the next barrier would wait until it is taken back. So that begins now, while the host makes
 * progress and the program goes on. Of more ranks some may be about to read it.
 */
static inline void sb_barrier_take_back(const sb_team_t *team)
{
    if (team->size == 2 && !team->oversubscribed)
        sb_fetch_to_write(&team->self->arrived.flag, 1);
}

/* Rank 0 waits for all others. */
static inline sb_status_t sb_barrier_gather_flat(sb_team_t *team, uint64_t number)
{
    sb_status_t status = SB_OK;

    for (uint32_t rank = 1; team->rank == 0 && rank < team->size && status == SB_OK; rank++)
        status = sb_barrier_await(team, rank, number);
    return status;
}

/* All that this rank speaks for have arrived: rank 0 writes one number on which the others spin. */
static inline sb_status_t sb_barrier_meet_at_root(sb_team_t *team, uint64_t number)
{
    sb_status_t status = SB_OK;

    if (team->rank == 0) {
        sb_flag_publish(&team->self->released.flag, number);
    } else {
        sb_flag_publish(&team->self->arrived.flag, number);
        status = sb_flag_wait(&team->controls[0]->released.flag, number, &team->waiter);
    }
    if (status == SB_OK)
        sb_team_all_arrived(team);
    return status;
}

/*
 * The last of all to add to the counter publishes the flag for which the others wait. The flag has
 * a different writer each time, one for each barrier; the counter orders them.
 */
sb_status_t sb_barrier_meet_at_counter(sb_team_t *team, sb_counter_t *counter, sb_flag_t *flag);

/* The hierarchical barrier over the set of levels s, a set of SB_LEVEL_BIT, is number s - 1. */
extern const sb_algorithm_t sb_barrier_hierarchical[SB_LEVELS_ALL];

#endif
