/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rings of a team, made when a message first needs one: communicators that only synchronise or
 * send small messages cost two pages.
 */
#include "team/team.h"

#define RING_LEAST ((size_t)16 << 10)

sb_status_t sb_team_need_ring(sb_team_t *team)
{
    if (SB_LIKELY(team->rings != NULL))
        return SB_OK;
    uint64_t asked =
        sb_rules_value(team->settings.rules, SB_BCAST, SB_TUNE_RING, 0, team->settings.ring_bytes);
    size_t wish = sb_round_up(sb_max((size_t)asked, RING_LEAST), 4096);
    sb_status_t status = sb_share_make(team, &team->ring_share, wish, RING_LEAST, true);
    if (status == SB_OK) {
        team->rings = team->ring_share.bases;
        team->ring_bytes = team->ring_share.bytes;
    }
    return status;
}
