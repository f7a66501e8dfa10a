/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather made of sends and receives, for comparison: every rank sends its part to the root, which
 * receives them one after the other in rank order. Cost: two line transfers and a fragment's for
 * each message, one message after the other; two copies of each byte. Memory: a ring of at most 32
 * KiB and 256 bytes for each other rank. Preconditions: the pairs. Source: the linear gather of
 * every MPI library.
 *
 * No deadlock: the root receives from one after the other, and none of them waits for another.
 */
#include "baseline/pairs.h"
#include "coll/vector/short.h"
#include "coll/vector/vector.h"

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    sb_status_t outcome = SB_OK;

    if (team->rank != parts->root)
        return parts->send->bytes == 0 ? SB_OK
                                       : sb_pair_send_standard(team, parts->root, parts->send);
    for (uint32_t i = 0; i < team->size && team->failure == SB_OK; i++) {
        if (i != team->rank && parts->receive[i].bytes > 0)
            outcome = sb_first(outcome, sb_pair_receive(team, i, &parts->receive[i]));
    }
    if (!parts->in_place)
        outcome = sb_first(outcome, sb_copy_own(parts->send, &parts->receive[team->rank]));
    return outcome;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    return (shape->ranks - 1) * (2 * price->line + 2 * price->byte * (double)bytes) +
           sb_cost_turns(shape, 1);
}

#define LINEAR(of)                                                                                 \
    {                                                                                              \
        .name = "p2p-linear", .collective = of,                                                    \
        .doc = "The root receives each rank's part, one message after the other. For comparison.", \
        .source = "the linear gather of MPI libraries", .on_request = true,                        \
        .prepare = sb_pairs_prepare, .cost = cost, .parts = run,                                   \
    }

const sb_algorithm_t sb_gather_p2p_linear = LINEAR(SB_GATHER);
const sb_algorithm_t sb_gatherv_p2p_linear = LINEAR(SB_GATHERV);
