/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a team waits. With a processor for each rank, the answer is one line transfer away, and
 * looking again at once is best; the processor is given away only when the wait has become so long
 * that a rank must be late or off its processor. (Giving it away earlier hands a whole time slice
 * to whatever else runs on the machine.) Where ranks outnumber processors, the rank that is waited
 * for may be waiting for this processor: it is given away after a few looks, which lets every rank
 * run once for each synchronisation. After a long wait, sleeping leaves the processors to ranks
 * that compute; but who has windows is asked by others at any time, and waits as the host would,
 * unless sleep was asked for.
 */
#include "base/config.h"
#include "base/log.h"
#include "team/team.h"

#define MICROSECOND 1000u
#define MILLISECOND 1000000u

static const sb_waiter_t spinning = {
    .bare_spins = 100,
    .paused_spins = 200,
    .progress_every = 16,
    .yield = 1,
    .stays_awake = 1,
    .yield_after_ns = 100 * MICROSECOND,
    .sleep_after_ns = 200 * MILLISECOND,
    .sleep_longest_ns = 500 * MICROSECOND,
    .awake_ns = 60 * MICROSECOND,
};

static const sb_waiter_t yielding = {
    .bare_spins = 10,
    .paused_spins = 0,
    .progress_every = 8,
    .yield = 1,
    .stays_awake = 1,
    .sleep_after_ns = 2 * MILLISECOND,
    .sleep_longest_ns = 1 * MILLISECOND,
};

static const sb_waiter_t sleeping = {
    .bare_spins = 10,
    .paused_spins = 0,
    .progress_every = 1,
    .yield = 1,
    .sleep_after_ns = 20 * MICROSECOND,
    .sleep_longest_ns = 1 * MILLISECOND,
};

static const sb_waiter_t *policy(uint64_t wait, bool oversubscribed)
{
    switch (wait) {
    case SB_WAIT_SPIN:
        return &spinning;
    case SB_WAIT_YIELD:
        return &yielding;
    case SB_WAIT_SLEEP:
        return &sleeping;
    default:
        return oversubscribed ? &yielding : &spinning;
    }
}

static bool lost(const sb_team_t *team, uint32_t rank)
{
    const sb_attachment_t *attachment = team->attachments[rank];

    return attachment != NULL && sb_attachment_owner_lost(attachment);
}

static sb_status_t check_members(void *context)
{
    sb_team_t *team = context;
    sb_status_t status = team->front.check == NULL ? SB_OK : team->front.check(team->front.context);

    if (status != SB_OK)
        return status;
    for (uint32_t rank = 0; rank < team->size; rank++) {
        if (!lost(team, rank))
            continue;
        sb_log("rank %u of %u lost its peer rank %u: the process has ended", team->rank, team->size,
               rank);
        team->failure = SB_ERR_PEER_DEAD;
        return SB_ERR_PEER_DEAD;
    }
    return SB_OK;
}

/* What a wait for one member looks after. */
typedef struct member {
    const sb_team_t *team;
    uint32_t rank;
} member_t;

static sb_status_t check_member(void *context)
{
    const member_t *member = context;

    return lost(member->team, member->rank) ? SB_ERR_PEER_DEAD : SB_OK;
}

void sb_team_wait_for_member(sb_team_t *team, uint32_t rank, sb_flag_t *flag, uint64_t value)
{
    member_t member = {team, rank};
    sb_waiter_t waiter = team->waiter;

    waiter.check = check_member;
    waiter.check_context = &member;
    (void)sb_flag_wait(flag, value, &waiter);
}

/* About the time that giving the processor away and getting it back takes. */
#define NEAR_SPINS 1000

void sb_team_set_waiter(sb_team_t *team)
{
    sb_patience_among(team->processors);
    team->waiter = *policy(sb_config()->wait.number, team->oversubscribed);
    team->waiter.check_every_ns = sb_config()->liveness.number * MILLISECOND;
    team->waiter.check = check_members;
    team->waiter.check_context = team;
    team->waiter.progress = team->front.progress;
    team->waiter.progress_context = team->front.context;
    team->waiter_near = team->waiter;
    if (team->waiter_near.bare_spins < NEAR_SPINS)
        team->waiter_near.bare_spins = NEAR_SPINS;
}
