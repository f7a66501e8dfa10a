/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter made of sends and receives, for comparison: the root sends each rank its part, one after
 * the other in rank order. Cost: two line transfers and a fragment's for each message, one message
 * after the other; two copies of each byte. Memory: a ring of at most 32 KiB and 256 bytes for each
 * other rank. Preconditions: the pairs. Source: the linear scatter of every MPI library.
 *
 * No deadlock: the root waits for one that only waits for the root.
 */
#include "baseline/pairs.h"
#include "coll/vector/short.h"
#include "coll/vector/vector.h"

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    sb_status_t outcome = SB_OK;

    if (team->rank != parts->root)
        return parts->receive->bytes == 0 ? SB_OK
                                          : sb_pair_receive(team, parts->root, parts->receive);
    for (uint32_t i = 0; i < team->size && team->failure == SB_OK; i++) {
        if (i != team->rank && parts->send[i].bytes > 0)
            outcome = sb_first(outcome, sb_pair_send_standard(team, i, &parts->send[i]));
    }
    if (!parts->in_place)
        outcome = sb_first(outcome, sb_copy_own(&parts->send[team->rank], parts->receive));
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
        .doc = "The root sends each rank its part, one message after the other. For comparison.",  \
        .source = "the linear scatter of MPI libraries", .on_request = true,                       \
        .prepare = sb_pairs_prepare, .cost = cost, .parts = run,                                   \
    }

const sb_algorithm_t sb_scatter_p2p_linear = LINEAR(SB_SCATTER);
const sb_algorithm_t sb_scatterv_p2p_linear = LINEAR(SB_SCATTERV);
