/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flat barrier: every rank publishes its arrival in its own line and looks at the lines of all the
 * others. Nobody collects and nobody releases, so the time is one line transfer after the last
 * arrival, and a rank that shares its processor has to run only once. Cost: p - 1 lines read by
 * each rank; requests for one line are served one after another, so it does not scale to many
 * cores. Two ranks take their lines back at the end. Memory: one line a rank. Source: folklore
 * ("all flags"); the case q = p of the n-way dissemination barrier of Hoefler, Mehlan, Mietke, Rehm
 * (2006).
 */
#include "coll/barrier/barrier.h"

static uint32_t count_missing(const sb_team_t *team, uint64_t number)
{
    uint32_t missing = 0;

    for (uint32_t rank = 0; rank < team->size; rank++)
        missing += sb_flag_read(&team->controls[rank]->arrived.flag) < number;
    return missing;
}

static sb_status_t run(sb_team_t *team)
{
    uint64_t number = ++team->barriers;

    sb_flag_publish(&team->self->arrived.flag, number);
    const sb_waiter_t *waiter = &team->waiter;
    if (team->oversubscribed)
        waiter = sb_team_waiter(team, count_missing(team, number));
    for (uint32_t step = 1; step < team->size; step++) {
        uint32_t rank = sb_team_after(team, step);
        sb_status_t status = sb_flag_wait(&team->controls[rank]->arrived.flag, number, waiter);
        if (status != SB_OK)
            return status;
    }
    sb_barrier_take_back(team);
    sb_team_all_arrived(team);
    return SB_OK;
}

/*
 * Reads of different lines overlap; the p - 1 readers of one line queue up, the less the more homes
 * the lines have. Ranks that take turns on a processor read one after another.
 */
static double queue(const sb_shape_t *shape)
{
    double each = shape->oversubscribed ? 0.5 : shape->stages > 1 ? 0.25 : 0.4;

    return each * shape->prices->flat_queue * shape->prices->line * (shape->ranks - 2);
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double reading = price->line + queue(shape);

    (void)bytes;
    /* All lines are wanted by all at once, and one home agent serves those of its node. */
    if (!shape->oversubscribed)
        reading += price->moving_line * (shape->ranks - 2) * (shape->ranks - 2);
    return reading * sb_cost_crowd(shape) + sb_cost_turns(shape, 1);
}

const sb_algorithm_t sb_barrier_flat = {
    .name = "flat",
    .collective = SB_BARRIER,
    .doc = "Every rank publishes its arrival and looks at all the others; best for few ranks and "
           "where they share processors.",
    .source = "all flags; n-way dissemination with n = p (Hoefler et al. 2006)",
    .cost = cost,
    .barrier = run,
};
