/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_BARRIER_MESSAGES_H
#define SB_BASELINE_BARRIER_MESSAGES_H

#include "baseline/pairs.h"
#include "coll/barrier/barrier.h"

/*
 * Barriers made of messages without bytes. A barrier's way in prepares nothing: so the first
 * message of each rank does, at the same call for all.
 */

static inline sb_status_t sb_messages_ready(sb_team_t *team)
{
    return SB_LIKELY(sb_pairs(team) != NULL) ? SB_OK : sb_pairs_prepare(team);
}

static inline sb_status_t sb_message_tell(sb_team_t *team, uint32_t peer)
{
    const sb_stream_t nothing = {0};
    sb_status_t status = sb_messages_ready(team);

    return status == SB_OK ? sb_pair_send(team, peer, &nothing) : status;
}

static inline sb_status_t sb_message_hear(sb_team_t *team, uint32_t peer)
{
    const sb_stream_t nothing = {0};
    sb_status_t status = sb_messages_ready(team);

    return status == SB_OK ? sb_pair_receive(team, peer, &nothing) : status;
}

/* A message is two lines that come to the receiver: the news, and what it is. */
static inline double sb_messages_cost(const sb_shape_t *shape, double messages)
{
    return 2 * messages * shape->prices->line + sb_cost_turns(shape, messages);
}

#define SB_BARRIER_OF_MESSAGES(of_name, of_doc, of_source)                                         \
    {                                                                                              \
        .name = of_name, .collective = SB_BARRIER, .doc = of_doc, .source = of_source,             \
        .on_request = true, .prepare = sb_pairs_prepare, .cost = cost, .barrier = run,             \
    }

#endif
