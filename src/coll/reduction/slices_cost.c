/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/reduction/slices.h"

#include <math.h>

/* For the expected time: groups on a machine of several packages. */
#define GROUPS_APART 3
/* And a contribution that is not copied in saves so much of what its reading and combining costs:
 * as measured with two ranks, an allreduce of 32 KiB to 1 MiB took a sixth to a quarter less. */
#define COPYING_IN 0.7

/*
 * Each step is a barrier, and a wait for the slowest rank; the pipeline is filled and emptied. A
 * rank copies all in, combines as much, copies `out` bytes out, and finds memory and links the
 * busier the more ranks there are.
 */
double sb_slices_cost(const sb_shape_t *shape, size_t bytes, double out)
{
    const sb_prices_t *price = shape->prices;
    double groups = shape->apart ? GROUPS_APART : 1;
    double windows = groups > 1 ? sqrt((double)bytes * (groups + 1) / SB_SLICES_BARRIER) : 1;
    double steps = sb_max((size_t)windows, 1) + groups;
    double in = shape->loads != 0 && bytes >= shape->loads ? 1 - COPYING_IN : 1;
    double crowd = sb_cost_calm(shape) ? price->slices_crowd_calm : price->slices_crowd;
    double copied =
        ((1 + in) * (double)bytes + out) / 3 * (price->slices_byte + crowd * shape->ranks);

    double slowest = !sb_cost_calm(shape) ? price->slices_slowest
                     : shape->stages == 1 ? price->slices_slowest_near
                                          : price->slices_slowest_calm;

    copied *= sb_cost_crowd(shape);
    return 8 * price->line + sb_workspace_steps_cost(shape, steps) + copied +
           steps * slowest * shape->ranks;
}
