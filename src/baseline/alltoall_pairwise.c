/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall made of sends and receives, for comparison: in p - 1 rounds every rank exchanges with a
 * partner, in round t with the rank (t - r) mod p. Cost: p - 1 messages one after the other; two
 * copies of each byte. Memory: a ring of at most 32 KiB and 256 bytes for each other rank.
 * Preconditions: the pairs. Source: the pairwise exchange of MPI libraries.
 *
 * No deadlock: two ranks that exchange do so in steps, see sb_pair_exchange, and each has done with
 * the partners before.
 */
#include "baseline/pairs.h"
#include "coll/vector/short.h"
#include "coll/vector/vector.h"

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    sb_status_t outcome = SB_OK;

    for (uint32_t turn = 0; turn < team->size && team->failure == SB_OK; turn++) {
        uint32_t peer = (turn + team->size - team->rank) % team->size;
        const sb_stream_t *sent = &parts->send[peer], *received = &parts->receive[peer];
        if (peer != team->rank)
            outcome = sb_first(outcome, sb_pair_exchange(team, peer, sent, peer, received));
        else if (!parts->in_place)
            outcome = sb_first(outcome, sb_copy_own(sent, received));
    }
    return outcome;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    return (shape->ranks - 1) * (2 * price->line + 2 * price->byte * (double)bytes) +
           sb_cost_turns(shape, shape->ranks - 1);
}

#define PAIRWISE(of)                                                                               \
    {                                                                                              \
        .name = "p2p-pairwise", .collective = of,                                                  \
        .doc = "Every rank exchanges with one partner after the other. For comparison.",           \
        .source = "the pairwise exchange of MPI libraries", .on_request = true,                    \
        .prepare = sb_pairs_prepare, .cost = cost, .parts = run,                                   \
    }

const sb_algorithm_t sb_alltoall_p2p_pairwise = PAIRWISE(SB_ALLTOALL);
const sb_algorithm_t sb_alltoallv_p2p_pairwise = PAIRWISE(SB_ALLTOALLV);
const sb_algorithm_t sb_alltoallw_p2p_pairwise = PAIRWISE(SB_ALLTOALLW);
