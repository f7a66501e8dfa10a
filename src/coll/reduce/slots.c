/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce through slots: every rank publishes its contribution beside a flag in its own lane, in
 * pieces of at most one slot; the root combines them from left to right in rank order, the others
 * go on. Cost: one line transfer; p lines read by the root, p sources combined. Memory: none beyond
 * the lanes. Preconditions: none. Source: as the allreduce through slots.
 */
#include "coll/reduction/slots.h"

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_slots_reduce(team, reduction, sb_wanted_by_root(team, reduction));
}

/* One rank reads the lines of all; the others wait for it once in so many slots. */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double pieces = (double)(bytes / (SB_SLOT_PAYLOAD + 1));
    double beyond = bytes > SB_SLOT_IN_LINE ? price->next_line : 0;

    return price->line + shape->ranks * (price->next_line + price->fold + beyond) +
           pieces * shape->ranks * price->line + sb_fold_turns(shape, 1 + pieces / SB_SLOTS) +
           sb_slots_row_cost(shape);
}

const sb_algorithm_t sb_reduce_slots = {
    .name = "slots",
    .collective = SB_REDUCE,
    .doc = "Every rank publishes its vector beside its flag, in pieces of 240 bytes; the root "
           "combines them in rank order.",
    .source = "all flags; immediate data of XHC (Katevenis et al. 2022)",
    .cost = cost,
    .reduction = run,
};
