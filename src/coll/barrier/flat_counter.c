/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flat tree with counters: every rank counts its arrivals in its own line; rank 0 looks at the
 * lines of all others, then writes one number on which they all spin. Cost: p - 1 lines read by
 * rank 0, which overlap, then one line read by p - 1 ranks, which queue up. Memory: one line a rank
 * and one more. Source: the flat tree with per-process counters of the barriers in shared memory of
 * MPI libraries, such as Graham, Shipman, "MPI support for multi-core architectures", 2008.
 */
#include "coll/barrier/barrier.h"

static sb_status_t run(sb_team_t *team)
{
    uint64_t number = ++team->barriers;
    sb_status_t status = sb_barrier_gather_flat(team, number);

    return status == SB_OK ? sb_barrier_meet_at_root(team, number) : status;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;

    (void)bytes;
    return 2.0 * price->line + 2.0 * price->next_line * (shape->ranks - 2) +
           sb_cost_turns(shape, 2);
}

const sb_algorithm_t sb_barrier_flat_counter = {
    .name = "flat-counter",
    .collective = SB_BARRIER,
    .doc = "Rank 0 looks at the arrivals of all, then writes one number that all look at.",
    .source = "flat tree with per-process counters (Graham, Shipman 2008)",
    .cost = cost,
    .barrier = run,
};
