/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce through slots: every rank publishes its contribution beside a flag in its own lane, in
 * pieces of at most one slot, and each combines those of all, from left to right in rank order.
 * Cost: one line transfer after the last arrival, more by a few for a longer piece; p lines read by
 * each rank, so it does not scale to many cores; p sources combined by each. A rank that shares its
 * processor has to run once. Memory: none beyond the lanes. Preconditions: none. Source: all flags,
 * see the flat barrier, with the immediate data of XHC (Katevenis, Ploumidis, Marazakis, 2022).
 */
#include "coll/reduction/slots.h"

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_slots_reduce(team, reduction, sb_wanted_by_all(team, reduction));
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    return sb_slots_cost(shape, bytes, shape->ranks);
}

const sb_algorithm_t sb_allreduce_slots = {
    .name = "slots",
    .collective = SB_ALLREDUCE,
    .doc = "Every rank publishes its vector beside its flag, in pieces of 240 bytes; each combines "
           "all in rank order.",
    .source = "all flags; immediate data of XHC (Katevenis et al. 2022)",
    .cost = cost,
    .reduction = run,
};
