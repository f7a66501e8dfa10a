/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_BARRIER_MESSAGES_H
#define SB_BASELINE_BARRIER_MESSAGES_H

#include "baseline/pairs.h"
#include "coll/barrier/barrier.h"

/* Barriers made of messages without bytes. */

static inline sb_status_t sb_message_tell(sb_team_t *team, uint32_t peer)
{
    const sb_stream_t nothing = {0};

    return sb_pair_send(team, peer, &nothing);
}

static inline sb_status_t sb_message_hear(sb_team_t *team, uint32_t peer)
{
    const sb_stream_t nothing = {0};

    return sb_pair_receive(team, peer, &nothing);
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
