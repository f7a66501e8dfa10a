/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reduce_scatter through the rings of rings.c: each rank combines its part in rank order as it
 * comes. Of two ranks with equal parts each gives the other its part, of which nothing else is in
 * the rings: so they change rings as for an allreduce of one part, and lines that a rank fills are
 * those that it has read. Long parts are given before anything is combined, as in halves, so that
 * nobody reads lines beside those that the other is just writing. In place a result is written over
 * what was given before: a window is filled before it is taken. With heaps two ranks may leave long
 * contributions where they are instead, and each reads its part of the other's there. Cost: each
 * rank copies in what others want, and combines p times its part. Memory, preconditions, source: as
 * of rings.c.
 */
#include "coll/reduction/rings.h"

#include "coll/reduction/placed.h"
#include "coll/reduction/ways.h"

/* Shorter parts lie in the first caches. */
#define LEAST ((size_t)32 << 10)

/* Tests have shorter ones go so too. */
static bool is_long(const sb_team_t *team, size_t part)
{
    uint32_t forced = team->settings.windows_mode;

    return part >= LEAST || ((forced == SB_COPY_HALVED || forced == SB_COPY_WHOLE) && part > 0);
}

bool sb_reduction_rings_parts_loaded(const sb_team_t *team, const sb_reduction_t *reduction)
{
    return team->size == 2 && !team->oversubscribed && sb_workspace(team)->loads &&
           is_long(team, sb_min(sb_part_bytes(reduction, 2, 0), sb_part_bytes(reduction, 2, 1)));
}

static sb_status_t through_rings(sb_team_t *team, const sb_reduction_t *reduction)
{
    sb_wanted_t wanted = sb_wanted_part(team, reduction);
    size_t part = wanted.to - wanted.from;
    sb_reduction_t own = *reduction;

    if (team->size != 2 || team->oversubscribed || 2 * part != reduction->bytes)
        return sb_reduction_rings_reduce_parts(team, reduction);
    own.bytes = part;
    own.send = reduction->send + wanted.from;
    return sb_reduction_rings_swap_parts(team, &own, reduction->send + (part - wanted.from),
                                         is_long(team, part));
}

sb_status_t sb_reduction_rings_reduce_scatter(sb_team_t *team, const sb_reduction_t *reduction)
{
    sb_status_t status = SB_OK;
    bool loaded = sb_reduction_rings_parts_loaded(team, reduction), stay = false;

    if (loaded && sb_ways_choose(team, reduction, SB_WAYS_OF_PARTS) == SB_COPY_WHOLE)
        status = sb_placed_part(team, reduction, &stay);
    if (stay)
        sb_ways_pass(team);
    else if (status == SB_OK)
        status = through_rings(team, reduction);
    return status;
}

#define PART "; each combines its part in rank order as it comes."

SB_RINGS(sb_reduce_scatter_rings, SB_REDUCE_SCATTER, NULL,
         sb_reduction_rings_reduce_scatter(team, reduction), sb_reduction_rings_cost_of_parts,
         PART);
SB_RINGS(sb_reduce_scatter_block_rings, SB_REDUCE_SCATTER_BLOCK, NULL,
         sb_reduction_rings_reduce_scatter(team, reduction), sb_reduction_rings_cost_of_parts,
         PART);
