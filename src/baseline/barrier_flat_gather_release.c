/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flat tree with a gather and a release phase: every rank counts its arrivals in its own line;
 * rank 0 looks at the lines of all others, and then writes to each of them a line of its own:
 * nobody spins on a line that another spins on. Cost: p - 1 lines read and p - 1 lines written by
 * rank 0, one after another. Memory: two lines a rank. Source: the linear fan-in and fan-out of MPI
 * libraries (basic linear algorithm), over shared memory.
 */
#include "baseline/barriers.h"

static sb_status_t run(sb_team_t *team)
{
    uint64_t number = ++team->barriers;
    sb_status_t status = sb_barrier_gather_flat(team, number);

    if (status == SB_OK)
        status = sb_barrier_be_woken(team, number);
    for (uint32_t rank = 1; team->rank == 0 && rank < team->size && status == SB_OK; rank++)
        sb_flag_publish(&team->controls[rank]->woken.flag, number);
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
    .on_request = true,
    .cost = cost,
    .barrier = run,
};
