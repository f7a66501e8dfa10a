/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier made of sends and receives, for comparison: in round k every rank tells the one 2^k
 * before it and hears from the one 2^k behind it. Cost: ceil(log2 p) messages one after another.
 * Memory: that of the pairs. Preconditions: the pairs. Source: Open MPI, coll/tuned, "bruck";
 * Hensgen, Finkel, Manber, 1988.
 */
#include "baseline/barrier_messages.h"

static sb_status_t run(sb_team_t *team)
{
    uint32_t ranks = team->size;
    sb_status_t status = SB_OK;

    for (uint32_t distance = 1; distance < ranks && status == SB_OK; distance *= 2) {
        status = sb_message_tell(team, (team->rank + ranks - distance) % ranks);
        if (status == SB_OK)
            status = sb_message_hear(team, (team->rank + distance) % ranks);
    }
    return status;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    (void)bytes;
    return sb_messages_cost(shape, sb_rounds(shape->ranks));
}

const sb_algorithm_t sb_barrier_p2p_bruck = SB_BARRIER_OF_MESSAGES(
    "p2p-bruck", "Messages over distances 1, 2, 4 and so on. For comparison.",
    "Open MPI, coll/tuned, bruck");
