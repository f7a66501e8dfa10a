/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan and Exscan through slots: every rank publishes its contribution beside a flag in its own
 * lane, in pieces of at most one slot; each combines those of the ranks up to itself, or before
 * itself, from left to right. Cost: one line transfer, more by a few for a longer piece; up to p
 * lines read and combined by each rank, and none waits for a higher one but for a free slot.
 * Memory: none beyond the lanes. Preconditions: none. Source: as the allreduce through slots.
 */
#include "coll/reduction/slots.h"

static sb_status_t scan(sb_team_t *team, const sb_reduction_t *reduction)
{
    sb_wanted_t wanted = {team->rank + 1, 0, reduction->bytes};

    return sb_slots_reduce(team, reduction, wanted);
}

static sb_status_t exscan(sb_team_t *team, const sb_reduction_t *reduction)
{
    sb_wanted_t wanted = {team->rank, 0, reduction->bytes};

    return sb_slots_reduce(team, reduction, wanted);
}

/* In the mean a rank reads half of the lines. */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    return sb_slots_cost(shape, bytes, shape->ranks) / 2 + sb_slots_row_cost(shape);
}

#define SLOTS(of, function)                                                                        \
    {                                                                                              \
        .name = "slots", .collective = of,                                                         \
        .doc = "Every rank publishes its vector beside its flag, in pieces of 240 bytes; each "    \
               "combines those of the ranks before it.",                                           \
        .source = "all flags; immediate data of XHC (Katevenis et al. 2022)", .cost = cost,        \
        .reduction = function,                                                                     \
    }

const sb_algorithm_t sb_scan_slots = SLOTS(SB_SCAN, scan);
const sb_algorithm_t sb_exscan_slots = SLOTS(SB_EXSCAN, exscan);
