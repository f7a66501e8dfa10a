/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier made of sends and receives, for comparison: a message goes round all ranks twice; the
 * first round tells rank 0 that all have come, the second tells the others. Cost: 2 p messages one
 * after another. Memory: that of the pairs. Preconditions: the pairs. Source: Open MPI, coll/tuned,
 * "double ring".
 */
#include "baseline/barrier_messages.h"

static sb_status_t run(sb_team_t *team)
{
    uint32_t right = (team->rank + 1) % team->size;
    uint32_t left = (team->rank + team->size - 1) % team->size;
    sb_status_t status = SB_OK;

    for (int round = 0; round < 2 && team->size > 1 && status == SB_OK; round++) {
        if (team->rank > 0)
            status = sb_message_hear(team, left);
        if (status == SB_OK)
            status = sb_message_tell(team, right);
        if (team->rank == 0 && status == SB_OK)
            status = sb_message_hear(team, left);
    }
    return status;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    (void)bytes;
    return sb_messages_cost(shape, 2.0 * shape->ranks);
}

const sb_algorithm_t sb_barrier_p2p_double_ring = SB_BARRIER_OF_MESSAGES(
    "p2p-double-ring", "A message goes round all ranks twice. For comparison.",
    "Open MPI, coll/tuned, double ring");
