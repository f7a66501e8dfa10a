/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather made of sends and receives, for comparison: in p - 1 rounds every rank sends its right
 * neighbour the part that it had last from its left one, at first its own. Cost: p - 1 messages one
 * after the other; 2 (p - 1) copies of each byte. Memory: a ring of at most 32 KiB and 256 bytes
 * for each other rank. Preconditions: the pairs. Source: the ring allgather of MPI libraries.
 *
 * No deadlock: see sb_pair_exchange_standard.
 */
#include "baseline/pairs.h"
#include "coll/vector/short.h"
#include "coll/vector/vector.h"

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    uint32_t size = team->size, rank = team->rank;
    uint32_t right = (rank + 1) % size, left = (rank + size - 1) % size;
    sb_status_t outcome = SB_OK;

    if (!parts->in_place)
        outcome = sb_copy_own(parts->send, &parts->receive[rank]);
    for (uint32_t round = 0; round + 1 < size && team->failure == SB_OK; round++) {
        const sb_stream_t *sent = &parts->receive[(rank + size - round) % size];
        const sb_stream_t *received = &parts->receive[(left + size - round) % size];
        outcome = sb_first(outcome, sb_pair_exchange_standard(team, right, sent, left, received));
    }
    return outcome;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    return (shape->ranks - 1) * (2 * price->line + 2 * price->byte * (double)bytes) +
           sb_cost_turns(shape, shape->ranks - 1);
}

#define RING(of)                                                                                   \
    {                                                                                              \
        .name = "p2p-ring", .collective = of,                                                      \
        .doc = "Parts travel from each rank to its right neighbour, in p - 1 rounds. For "         \
               "comparison.",                                                                      \
        .source = "the ring allgather of MPI libraries", .on_request = true,                       \
        .prepare = sb_pairs_prepare, .cost = cost, .parts = run,                                   \
    }

const sb_algorithm_t sb_allgather_p2p_ring = RING(SB_ALLGATHER);
const sb_algorithm_t sb_allgatherv_p2p_ring = RING(SB_ALLGATHERV);
