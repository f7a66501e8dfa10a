/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather made of sends and receives, for comparison: in round i two ranks that differ in bit i
 * exchange all parts that they have. Where p is not a power of two, each rank beyond the largest
 * one, P, first gives its part to the rank P below, and gets everything from it at the end. Cost:
 * log2 p messages one after the other; 2 (p - 1) copies of each byte. Memory: a ring of at most 32
 * KiB and 256 bytes for each other rank. Preconditions: the pairs. Source: the recursive doubling
 * of MPI libraries.
 *
 * No deadlock: two ranks that exchange do so in steps, see sb_pair_exchange; a rank beyond P only
 * sends or only receives, and its partner the other way round.
 */
#include "baseline/bundle.h"
#include "baseline/pairs.h"
#include "coll/vector/short.h"
#include "coll/vector/vector.h"

/* The parts of `count` ranks from `first` on, and of those P above them. */
static sb_bundle_t bundle_of(const sb_stream_t *parts, uint32_t size, uint32_t power,
                             uint32_t first, uint32_t count)
{
    uint32_t beyond = size - power;
    uint32_t above = first < beyond ? (uint32_t)sb_min(count, beyond - first) : 0;

    return (sb_bundle_t){parts, {first, first + power}, {count, above}};
}

/* The largest power of two that is not above. */
static uint32_t power_of(uint32_t size)
{
    uint32_t power = 1;

    while (power * 2 <= size)
        power *= 2;
    return power;
}

/* A rank beyond P. */
static sb_status_t run_beyond(sb_team_t *team, const sb_stream_t *parts, uint32_t power)
{
    uint32_t partner = team->rank - power;
    sb_bundle_t bundle = bundle_of(parts, team->size, power, 0, power);
    sb_status_t outcome = sb_pair_send(team, partner, &parts[team->rank]);
    sb_stream_t all = sb_bundle_stream(&bundle);

    return sb_first(outcome, sb_pair_receive(team, partner, &all));
}

static sb_status_t run_below(sb_team_t *team, const sb_stream_t *parts, uint32_t power)
{
    uint32_t rank = team->rank, size = team->size, above = rank + power;
    sb_status_t outcome = SB_OK;

    if (above < size)
        outcome = sb_pair_receive(team, above, &parts[above]);
    for (uint32_t count = 1; count < power && team->failure == SB_OK; count *= 2) {
        uint32_t partner = rank ^ count;
        sb_bundle_t mine = bundle_of(parts, size, power, rank & ~(count - 1), count);
        sb_bundle_t theirs = bundle_of(parts, size, power, partner & ~(count - 1), count);
        sb_stream_t sent = sb_bundle_stream(&mine), received = sb_bundle_stream(&theirs);
        outcome = sb_first(outcome, sb_pair_exchange(team, partner, &sent, partner, &received));
    }
    if (above < size) {
        sb_bundle_t bundle = bundle_of(parts, size, power, 0, power);
        sb_stream_t all = sb_bundle_stream(&bundle);
        outcome = sb_first(outcome, sb_pair_send(team, above, &all));
    }
    return outcome;
}

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    uint32_t power = power_of(team->size);
    sb_status_t outcome = SB_OK;

    if (!parts->in_place)
        outcome = sb_copy_own(parts->send, &parts->receive[team->rank]);
    sb_status_t moved = team->rank >= power ? run_beyond(team, parts->receive, power)
                                            : run_below(team, parts->receive, power);
    return sb_first(moved, outcome);
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    return sb_rounds(shape->ranks) * 2 * price->line +
           (shape->ranks - 1) * 2 * price->byte * (double)bytes +
           sb_cost_turns(shape, sb_rounds(shape->ranks));
}

#define DOUBLING(of)                                                                               \
    {                                                                                              \
        .name = "p2p-recursive-doubling", .collective = of,                                        \
        .doc = "Two ranks exchange all parts that they have, in log2 p rounds. For comparison.",   \
        .source = "the recursive doubling of MPI libraries", .on_request = true,                   \
        .prepare = sb_pairs_prepare, .cost = cost, .parts = run,                                   \
    }

const sb_algorithm_t sb_allgather_p2p_recursive_doubling = DOUBLING(SB_ALLGATHER);
const sb_algorithm_t sb_allgatherv_p2p_recursive_doubling = DOUBLING(SB_ALLGATHERV);
