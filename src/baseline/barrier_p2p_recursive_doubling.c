/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier made of sends and receives, for comparison: in round k ranks that differ in bit k tell
 * each other. Where p is no power of two, P being the largest below, the ranks from P on first tell
 * the one P before them, which tells them at the end. Cost: floor(log2 p) messages one after
 * another, and 2 more where p is no power of two. Memory: that of the pairs. Preconditions: the
 * pairs. Source: Open MPI, coll/tuned, "recursive doubling".
 */
#include "baseline/barrier_messages.h"

static sb_status_t rounds(sb_team_t *team, uint32_t power)
{
    sb_status_t status = SB_OK;

    for (uint32_t bit = 1; bit < power && status == SB_OK; bit *= 2) {
        status = sb_message_tell(team, team->rank ^ bit);
        if (status == SB_OK)
            status = sb_message_hear(team, team->rank ^ bit);
    }
    return status;
}

static sb_status_t run(sb_team_t *team)
{
    uint32_t power = 1;

    while (power <= team->size / 2)
        power *= 2;
    if (team->rank >= power) {
        sb_status_t told = sb_message_tell(team, team->rank - power);
        return told == SB_OK ? sb_message_hear(team, team->rank - power) : told;
    }
    bool doubled = team->rank < team->size - power;
    sb_status_t status = doubled ? sb_message_hear(team, team->rank + power) : SB_OK;
    if (status == SB_OK)
        status = rounds(team, power);
    return status == SB_OK && doubled ? sb_message_tell(team, team->rank + power) : status;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    (void)bytes;
    return sb_messages_cost(shape, sb_rounds(shape->ranks));
}

const sb_algorithm_t sb_barrier_p2p_recursive_doubling = SB_BARRIER_OF_MESSAGES(
    "p2p-recursive-doubling", "Messages between ranks that differ in one bit. For comparison.",
    "Open MPI, coll/tuned, recursive doubling");
