/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Central counter: every rank adds one to a counter of rank 0; the last to arrive publishes the
 * number for which all the others wait. The two are on lines of their own. Numbers only grow, in
 * place of sense reversal. Each rank that shares its processor has to run once, and one wake-up
 * reaches all sleepers. Cost: p atomic additions to one line, served one after another. Memory: two
 * lines. Source: Hensgen, Finkel, Manber, 1988.
 */
#include "coll/barrier/barrier.h"

sb_status_t sb_barrier_meet_at_counter(sb_team_t *team, sb_counter_t *counter, sb_flag_t *flag)
{
    uint64_t number = ++team->barriers;
    uint32_t place = (uint32_t)(sb_counter_add(counter, 1) % team->size);
    uint32_t missing = team->size - 1 - place;
    sb_status_t status = SB_OK;

    if (missing == 0)
        sb_flag_publish(flag, number);
    else
        status = sb_flag_wait(flag, number, sb_team_waiter(team, missing));
    if (status == SB_OK)
        sb_team_all_arrived(team);
    return status;
}

static sb_status_t run(sb_team_t *team)
{
    sb_control_t *centre = team->controls[0];

    return sb_barrier_meet_at_counter(team, &centre->entered.counter, &centre->released.flag);
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    (void)bytes;
    /* The line is fought for by the ranks that run: each addition waits for those before it, and
     * for the waiters. */
    uint32_t rivals = shape->oversubscribed ? shape->processors : shape->ranks;

    return 2.0 * price->line * (1 + rivals) + sb_cost_turns(shape, 1);
}

const sb_algorithm_t sb_barrier_counter = {
    .name = "counter",
    .collective = SB_BARRIER,
    .doc = "One atomic counter and one release flag, both at rank 0.",
    .source = "Hensgen, Finkel, Manber 1988, central counter",
    .cost = cost,
    .barrier = run,
};
