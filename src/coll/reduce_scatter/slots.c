/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter and Reduce_scatter_block through slots: every rank publishes its contribution
 * beside a flag in its own lane, in pieces of at most one slot; each combines its own part of all,
 * from left to right in rank order. Cost: one line transfer, more by a few for a longer piece; the
 * lines of its part read from p ranks by each. Memory: none beyond the lanes. Preconditions: none.
 * Source: as the allreduce through slots.
 */
#include "coll/reduction/slots.h"

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_slots_reduce(team, reduction, sb_wanted_part(team, reduction));
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    return sb_slots_cost(shape, bytes, shape->ranks);
}

#define SLOTS(of)                                                                                  \
    {                                                                                              \
        .name = "slots", .collective = of,                                                         \
        .doc = "Every rank publishes its vector beside its flag, in pieces of 240 bytes; each "    \
               "combines its part in rank order.",                                                 \
        .source = "all flags; immediate data of XHC (Katevenis et al. 2022)", .cost = cost,        \
        .reduction = run,                                                                          \
    }

const sb_algorithm_t sb_reduce_scatter_slots = SLOTS(SB_REDUCE_SCATTER);
const sb_algorithm_t sb_reduce_scatter_block_slots = SLOTS(SB_REDUCE_SCATTER_BLOCK);
