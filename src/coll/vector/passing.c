/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long parts are passed in calls in which every rank sends to every other: what rank 0 learns,
 * and what the others follow. The time of a call is counted from when the last of those had begun
 * of whom rank 0 heard, so that ranks that come late do not count.
 */
#include "coll/vector/mesh.h"

/* The first way of a pace is the one that is usual. */
#define WAY_PULLED SB_WAY_STREAMING
#define WAY_AROUND SB_WAY_CACHED

static sb_manner_t choose_measured(sb_team_t *team, const sb_stream_t *part)
{
    sb_manners_t *manners = sb_mesh(team)->manners;
    const size_t laps[SB_WAYS] = {sb_mesh(team)->bytes, sb_mesh(team)->bytes};

    manners->again = sb_pace_again(&manners->seen, part->bytes, part->base);
    manners->step = sb_pace_next(&manners->pace[manners->again], part->bytes, laps);
    manners->bytes = manners->step.timed ? part->bytes : 0;
    return manners->step.way == WAY_AROUND ? SB_MANNER_AROUND : SB_MANNER_PULLED;
}

static sb_manner_t choose(sb_team_t *team, const sb_stream_t *part)
{
    sb_manner_t followed = sb_mesh(team)->manners->followed[sb_pace_class(part->bytes)];

    if (team->settings.stores != SB_STORES_AUTO)
        return team->settings.stores == SB_STORES_CACHED ? SB_MANNER_PULLED : SB_MANNER_AROUND;
    if (team->oversubscribed || team->settings.cma != SB_CMA_AUTO)
        return SB_MANNER_ANY;
    if (team->rank == 0)
        return choose_measured(team, part);
    return followed != SB_MANNER_ANY ? followed : SB_MANNER_PULLED;
}

sb_manner_t sb_manner_choose(sb_team_t *team, const sb_stream_t *part)
{
    sb_manners_t *manners = sb_mesh(team)->manners;
    sb_manner_t manner;

    manners->bytes = 0;
    manner = choose(team, part);
    if (manner != SB_MANNER_ANY)
        manners->started = sb_now_ns();
    return manner;
}

void sb_manner_follow(sb_team_t *team, size_t bytes, sb_manner_t manner)
{
    sb_mesh(team)->manners->followed[sb_pace_class(bytes)] = manner;
}

void sb_manner_started(sb_team_t *team, uint64_t started)
{
    sb_manners_t *manners = sb_mesh(team)->manners;

    manners->started = manners->started > started ? manners->started : started;
}

void sb_manner_learn(sb_team_t *team)
{
    sb_manners_t *manners = sb_mesh(team)->manners;
    uint64_t now;

    if (manners->bytes == 0)
        return;
    now = sb_now_ns();
    if (now > manners->started)
        sb_pace_record(&manners->pace[manners->again], manners->bytes, &manners->step,
                       now - manners->started);
}
