/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_BARRIERS_H
#define SB_BASELINE_BARRIERS_H

#include "coll/barrier/barrier.h"

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
