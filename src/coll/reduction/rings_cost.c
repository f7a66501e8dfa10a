/* SPDX-License-Identifier: BSD-3-Clause */
/* What reductions through rings are expected to take. */
#include "coll/reduction/rings.h"

#include <math.h>

/* A ring's bytes, for the expected time. */
#define RING_USUAL 131072.0

/* So many of them, by whole ones: prices were fitted to that. */
static double rings_of(double bytes)
{
    return fmax(floor(bytes / RING_USUAL), 1);
}

/*
 * Where the busiest processor copies `in` bytes in and combines `combined`, and `readers` want
 * something of all: the first window's flag and lines, for which many readers fight; then a byte
 * copied in, and one combined: of the cache that ranks share, or from another core, the dearer the
 * more of them want something.
 */
static double cost_at(const sb_shape_t *shape, double near, double in, double combined,
                      double readers)
{
    const sb_prices_t *price = shape->prices;
    double apart = (shape->apart ? price->ring_packages : near) + price->ring_crowd * shape->ranks;
    double crowd = sb_cost_crowd(shape);
    double turns = rings_of(in / crowd);
    double lines = (2 * price->line + shape->ranks * price->next_line) * crowd;
    double time = lines + price->byte * in;

    if (shape->oversubscribed)
        return time + combined * price->ring_shared + sb_fold_turns(shape, turns);
    return time + combined * apart + price->moving_line * (readers - 1) * shape->ranks;
}

/* All read all. */
static double cost_of(const sb_shape_t *shape, double in, double combined, double readers)
{
    const sb_prices_t *price = shape->prices;

    return cost_at(shape, sb_cost_calm(shape) ? price->ring_calm : price->ring_apart, in, combined,
                   readers);
}

/*
 * Of two ranks each reads one vector of another core: its own lies where it is. The price of more
 * was measured for all of them together.
 */
double sb_reduction_rings_cost_of_all(const sb_shape_t *shape, size_t bytes)
{
    double all = (double)bytes * sb_cost_crowd(shape);
    uint32_t read = shape->ranks == 2 && !shape->oversubscribed ? 1 : shape->ranks;

    return cost_of(shape, all, read * all, shape->ranks);
}

/* Where nobody shares a processor, the root combines while the others copy. */
double sb_reduction_rings_cost_of_root(const sb_shape_t *shape, size_t bytes)
{
    double in = shape->oversubscribed ? (double)bytes * sb_cost_crowd(shape) : 0;

    return cost_of(shape, in, shape->ranks * (double)bytes, 1);
}

/* All begin a short part of each at once: each counts for several readers. Ranks with a processor
 * each come to them one after the other. */
static double readers_of_parts(const sb_shape_t *shape)
{
    return sb_cost_calm(shape) ? shape->prices->ring_part_calm
                               : shape->prices->ring_part * shape->ranks;
}

/* Of a message that is longer than the rings, the parts have their turns one after the other, and
 * others copy meanwhile. Nobody else wants a byte of a part at the same time. */
double sb_reduction_rings_cost_of_parts(const sb_shape_t *shape, size_t bytes)
{
    /* Each gives the other its part, and reads as much: an allreduce of that. */
    if (shape->ranks == 2 && !shape->oversubscribed)
        return sb_reduction_rings_cost_of_all(shape, bytes / 2);
    double all = (double)bytes * sb_cost_crowd(shape);
    double ringfuls = fmin(rings_of((double)bytes), shape->ranks);
    bool together = ringfuls <= 1 || shape->oversubscribed;
    bool grouped = sb_cost_calm(shape) && shape->stages > 1;
    double rate = grouped ? shape->prices->ring_part_byte : shape->prices->ring_apart;

    return cost_at(shape, rate, together ? all : 0, ringfuls * all, readers_of_parts(shape));
}

/*
 * The last rank combines all, while the others copy; of ranks that share a processor one combines
 * half of that in the mean.
 */
double sb_reduction_rings_scan_cost(const sb_shape_t *shape, size_t bytes)
{
    double all = (double)bytes * sb_cost_crowd(shape);

    if (!shape->oversubscribed)
        return cost_of(shape, 0, shape->ranks * all, shape->ranks);
    return cost_of(shape, all, (shape->ranks + 1) / 2.0 * all, shape->ranks);
}
