/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_SETRING_H
#define SB_BASELINE_SETRING_H

#include "team/team.h"

/*
 * The published sets of buffers (Kurnosov, Tokmasheva 2020). The buffers of each rank are divided
 * into q sets. Uses of sets are counted alike by all members: use u is of set u mod q, for the
 * (u div q)th time. The root of a use claims the set when all have left it, the others enter it
 * when it is claimed, and leave it when they are done.
 *
 * Nothing is reset: a flag holds the number of the use, which only grows. A flag has one writer at
 * a time, and the next one has seen the set emptied by all. Members that leave are counted up, by
 * atomic addition to one counter as in the paper; who comes last publishes a flag, because flags
 * are what is waited for.
 */

typedef struct sb_set {
    sb_wide_flag_t claimed; /* for this use + 1, by the root of the use */
    sb_wide_counter_t left; /* any rank: one more is done with the set */
    sb_wide_flag_t emptied; /* how often all have left, by the last to leave */
} sb_set_t;

/* Private to the rank, equal on all but for the address. */
typedef struct sb_setring {
    sb_set_t *sets;   /* those of rank 0 */
    uint32_t count;   /* q */
    uint32_t per_set; /* buffers of each rank */
    uint32_t leavers; /* members that leave a set, each time */
    uint64_t uses;    /* so far: number of the present one */
} sb_setring_t;

static inline sb_set_t *sb_setring_present(const sb_setring_t *ring)
{
    return &ring->sets[ring->uses % ring->count];
}

/* Number of the buffer that is the present set's `i`th. */
static inline uint32_t sb_setring_buffer(const sb_setring_t *ring, uint32_t i)
{
    return (uint32_t)(ring->uses % ring->count) * ring->per_set + i;
}

/* Root: waits until all have left the present set, which is then its own. */
static inline sb_status_t sb_setring_wait_empty(const sb_team_t *team, const sb_setring_t *ring)
{
    sb_flag_t *emptied = &sb_setring_present(ring)->emptied.flag;

    return sb_flag_wait(emptied, ring->uses / ring->count, &team->waiter);
}

/* Root: does so, and lets the others in. */
static inline sb_status_t sb_setring_claim(const sb_team_t *team, const sb_setring_t *ring)
{
    sb_status_t status = sb_setring_wait_empty(team, ring);

    if (status == SB_OK)
        sb_flag_publish(&sb_setring_present(ring)->claimed.flag, ring->uses + 1);
    return status;
}

/* Others: wait until the present set is claimed. */
static inline sb_status_t sb_setring_enter(const sb_team_t *team, const sb_setring_t *ring)
{
    return sb_flag_wait(&sb_setring_present(ring)->claimed.flag, ring->uses + 1, &team->waiter);
}

/* Who is counted: is done with the present set. The next use is the present one. */
static inline void sb_setring_leave(sb_setring_t *ring)
{
    sb_set_t *set = sb_setring_present(ring);
    uint64_t round = ring->uses++ / ring->count + 1;

    /* Acquire and release: what the others read before they left is over before the set is used
     * again. */
    if (sb_counter_add(&set->left.counter, 1) + 1 == round * ring->leavers)
        sb_flag_publish(&set->emptied.flag, round);
}

#endif
