/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flat tree with a gather and a release phase: rank 0 looks at the arrivals of all others, each in
 * its own line, then writes to each of them a line of its own. Nobody spins on a line that another
 * spins on. Cost: p - 1 lines read and p - 1 lines written by rank 0, one after another. Memory:
 * two lines a rank. Source: the linear fan-in and fan-out of MPI libraries (basic linear
 * algorithm), over shared memory.
 */
#include "coll/barrier/barrier.h"

static sb_status_t gather(sb_team_t *team, uint64_t number)
{
    for (uint32_t rank = 1; rank < team->size; rank++) {
        sb_status_t status = sb_flag_wait(&team->lanes[rank]->arrived.flag, number, &team->waiter);
        if (status != SB_OK)
            return status;
    }
    return SB_OK;
}

static void release(sb_team_t *team, uint64_t number)
{
    for (uint32_t rank = 1; rank < team->size; rank++)
        sb_flag_publish(&team->lanes[rank]->woken.flag, number);
}

static sb_status_t run(sb_team_t *team)
{
    uint64_t number = ++team->barriers;
    sb_status_t status = SB_OK;

    if (team->rank == 0) {
        status = gather(team, number);
        if (status == SB_OK)
            release(team, number);
    } else {
        sb_flag_publish(&team->self->arrived.flag, number);
        status = sb_flag_wait(&team->self->woken.flag, number, &team->waiter);
    }
    if (status == SB_OK)
        sb_team_all_arrived(team);
    return status;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    (void)bytes;
    /* Each release takes the line from the rank that spins on it before the next is written. */
    return 2.0 * price->line + (price->next_line + 0.5 * price->line) * (shape->ranks - 2) +
           sb_cost_turns(shape, 2);
}

const sb_algorithm_t sb_barrier_flat_gather_release = {
    .name = "flat-gather-release",
    .collective = SB_BARRIER,
    .doc = "Rank 0 looks at the arrivals of all, then writes a line of its own to each.",
    .source = "linear fan-in and fan-out",
    .cost = cost,
    .barrier = run,
};
