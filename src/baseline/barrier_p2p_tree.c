/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier made of sends and receives, for comparison: a binomial tree. In round k a rank whose
 * lowest set bit is 2^k tells the one without it, and the news comes back the same way. Cost: 2
 * ceil(log2 p) messages one after another. Memory: that of the pairs. Preconditions: the pairs.
 * Source: Open MPI, coll/tuned, "tree".
 */
#include "baseline/barrier_messages.h"

static sb_status_t run(sb_team_t *team)
{
    uint32_t rank = team->rank;
    uint64_t step = 1;
    sb_status_t status = SB_OK;

    for (; step < team->size && (rank & step) == 0 && status == SB_OK; step *= 2) {
        if (rank + step < team->size)
            status = sb_message_hear(team, (uint32_t)(rank + step));
    }
    if (rank > 0 && status == SB_OK)
        status = sb_message_tell(team, (uint32_t)(rank - step));
    if (rank > 0 && status == SB_OK)
        status = sb_message_hear(team, (uint32_t)(rank - step));
    for (step /= 2; step > 0 && status == SB_OK; step /= 2) {
        if (rank + step < team->size)
            status = sb_message_tell(team, (uint32_t)(rank + step));
    }
    return status;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    (void)bytes;
    return sb_messages_cost(shape, 2.0 * sb_rounds(shape->ranks));
}

const sb_algorithm_t sb_barrier_p2p_tree = SB_BARRIER_OF_MESSAGES(
    "p2p-tree", "Messages up a binomial tree and down again. For comparison.",
    "Open MPI, coll/tuned, tree");
