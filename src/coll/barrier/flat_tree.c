/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flat trees: every rank counts its arrivals in its own line, and rank 0 looks at the lines of all
 * others.
 *
 * With counters, rank 0 then writes one number on which they all spin. Cost: p - 1 lines read by
 * rank 0, which overlap, then one line read by p - 1 ranks, which queue up. Memory: one line a
 * rank and one more. Source: the flat tree with per-process counters of the barriers in shared
 * memory of MPI libraries, such as Graham, Shipman, "MPI support for multi-core architectures",
 * 2008.
 *
 * With a gather and a release phase, it writes to each of them a line of its own: nobody spins on a
 * line that another spins on. Cost: p - 1 lines read and p - 1 lines written by rank 0, one after
 * another. Memory: two lines a rank. Source: the linear fan-in and fan-out of MPI libraries (basic
 * linear algorithm), over shared memory.
 */
#include "coll/barrier/barrier.h"

static sb_status_t gather(sb_team_t *team, uint64_t number)
{
    sb_status_t status = SB_OK;

    for (uint32_t rank = 1; team->rank == 0 && rank < team->size && status == SB_OK; rank++)
        status = sb_barrier_await(team, rank, number);
    return status;
}

static sb_status_t run_counter(sb_team_t *team)
{
    uint64_t number = ++team->barriers;
    sb_status_t status = gather(team, number);

    return status == SB_OK ? sb_barrier_meet_at_root(team, number) : status;
}

static sb_status_t run_release(sb_team_t *team)
{
    uint64_t number = ++team->barriers;
    sb_status_t status = gather(team, number);

    if (status == SB_OK)
        status = sb_barrier_be_woken(team, number);
    for (uint32_t rank = 1; team->rank == 0 && rank < team->size && status == SB_OK; rank++)
        sb_flag_publish(&team->lanes[rank]->woken.flag, number);
    return status;
}

static double cost_counter(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    (void)bytes;
    return 2.0 * price->line + 2.0 * price->next_line * (shape->ranks - 2) +
           sb_cost_turns(shape, 2);
}

static double cost_release(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    (void)bytes;
    /* Each release takes the line from the rank that spins on it before the next is written. */
    return 2.0 * price->line + (price->next_line + 0.5 * price->line) * (shape->ranks - 2) +
           sb_cost_turns(shape, 2);
}

const sb_algorithm_t sb_barrier_flat_counter = {
    .name = "flat-counter",
    .collective = SB_BARRIER,
    .doc = "Rank 0 looks at the arrivals of all, then writes one number that all look at.",
    .source = "flat tree with per-process counters (Graham, Shipman 2008)",
    .cost = cost_counter,
    .barrier = run_counter,
};

const sb_algorithm_t sb_barrier_flat_gather_release = {
    .name = "flat-gather-release",
    .collective = SB_BARRIER,
    .doc = "Rank 0 looks at the arrivals of all, then writes a line of its own to each.",
    .source = "linear fan-in and fan-out",
    .cost = cost_release,
    .barrier = run_release,
};
