/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier made of sends and receives, for comparison: rank 0 hears from all others in rank order,
 * and then tells each. Cost: 2 (p - 1) messages, one after another at rank 0. Memory: that of the
 * pairs. Preconditions: the pairs. Source: Open MPI, coll/tuned, "linear".
 */
#include "baseline/barrier_messages.h"

static sb_status_t run(sb_team_t *team)
{
    sb_status_t status = SB_OK;

    if (team->rank != 0) {
        status = sb_message_tell(team, 0);
        return status == SB_OK ? sb_message_hear(team, 0) : status;
    }
    for (uint32_t other = 1; other < team->size && status == SB_OK; other++)
        status = sb_message_hear(team, other);
    for (uint32_t other = 1; other < team->size && status == SB_OK; other++)
        status = sb_message_tell(team, other);
    return status;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    (void)bytes;
    return sb_messages_cost(shape, 2.0 * shape->ranks);
}

const sb_algorithm_t sb_barrier_p2p_linear =
    SB_BARRIER_OF_MESSAGES("p2p-linear", "Messages: all to rank 0, and back. For comparison.",
                           "Open MPI, coll/tuned, linear");
