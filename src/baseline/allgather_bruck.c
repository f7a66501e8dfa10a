/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather made of sends and receives, for comparison: in round i every rank sends the rank 2^i
 * before it all parts that it has, and gets as many from the rank 2^i behind it; in the last round
 * as many as are missing. Cost: ceil(log2 p) messages one after the other; 2 (p - 1) copies of each
 * byte. Memory: a ring of at most 32 KiB and 256 bytes for each other rank. Preconditions: the
 * pairs. Source: Bruck, Ho, Kipnis, Upfal, Weathersby, 1997, as Open MPI's coll/tuned has it.
 *
 * No deadlock: see sb_pair_exchange_standard.
 */
#include "baseline/bundle.h"
#include "baseline/pairs.h"
#include "coll/vector/short.h"
#include "coll/vector/vector.h"

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    uint32_t size = team->size, rank = team->rank;
    sb_status_t outcome = SB_OK;

    if (!parts->in_place)
        outcome = sb_copy_own(parts->send, &parts->receive[rank]);
    for (uint32_t far = 1; far < size && team->failure == SB_OK; far *= 2) {
        uint32_t from = (rank + far) % size, count = (uint32_t)sb_min(far, size - far);
        sb_bundle_t mine = sb_bundle_round(parts->receive, size, rank, count);
        sb_bundle_t theirs = sb_bundle_round(parts->receive, size, from, count);
        sb_stream_t sent = sb_bundle_stream(&mine), received = sb_bundle_stream(&theirs);
        outcome = sb_first(outcome, sb_pair_exchange_standard(team, (rank + size - far) % size,
                                                              &sent, from, &received));
    }
    return outcome;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    return sb_rounds(shape->ranks) * 2 * price->line +
           (shape->ranks - 1) * 2 * price->byte * (double)bytes +
           sb_cost_turns(shape, sb_rounds(shape->ranks));
}

#define BRUCK(of)                                                                                  \
    {                                                                                              \
        .name = "p2p-bruck", .collective = of,                                                     \
        .doc = "Each rank sends all parts that it has over distances 1, 2, 4 and so on. For "      \
               "comparison.",                                                                      \
        .source = "Bruck et al. 1997", .on_request = true, .prepare = sb_pairs_prepare,            \
        .cost = cost, .parts = run,                                                                \
    }

const sb_algorithm_t sb_allgather_p2p_bruck = BRUCK(SB_ALLGATHER);
const sb_algorithm_t sb_allgatherv_p2p_bruck = BRUCK(SB_ALLGATHERV);
