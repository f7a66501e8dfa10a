/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather made of sends and receives, for comparison: all ranks send rank 0 their parts, one
 * after the other in rank order, and everything comes back down a binomial tree. Cost: p - 1
 * messages one after the other, then ceil(log2 p) of all parts; 2 (p - 1) copies of each byte on
 * each of these levels. Memory: a ring of at most 32 KiB and 256 bytes for each other rank.
 * Preconditions: the pairs. Source: what Open MPI's coll/tuned takes for short parts.
 *
 * No deadlock: ranks send to rank 0 before they receive from it, and rank 0 receives from all
 * before it sends; then news goes from the root to the leaves alone.
 */
#include "baseline/bundle.h"
#include "baseline/pairs.h"
#include "coll/vector/short.h"
#include "coll/vector/vector.h"

static sb_status_t gather(sb_team_t *team, const sb_stream_t *parts)
{
    sb_status_t outcome = SB_OK;

    if (team->rank != 0)
        return sb_pair_send_standard(team, 0, &parts[team->rank]);
    for (uint32_t i = 1; i < team->size && team->failure == SB_OK; i++)
        outcome = sb_first(outcome, sb_pair_receive(team, i, &parts[i]));
    return outcome;
}

static sb_status_t broadcast(sb_team_t *team, const sb_stream_t *all)
{
    uint32_t rank = team->rank, size = team->size, below = 1;
    sb_status_t outcome = SB_OK;

    while (below < size && (rank & below) == 0)
        below *= 2;
    if (rank != 0)
        outcome = sb_pair_receive(team, rank - below, all);
    for (below /= 2; below > 0 && team->failure == SB_OK; below /= 2) {
        if (rank + below < size)
            outcome = sb_first(outcome, sb_pair_send_standard(team, rank + below, all));
    }
    return outcome;
}

static sb_status_t run(sb_team_t *team, const sb_parts_t *parts)
{
    sb_bundle_t bundle = sb_bundle_round(parts->receive, team->size, 0, team->size);
    sb_stream_t all = sb_bundle_stream(&bundle);
    sb_status_t outcome = SB_OK;

    if (!parts->in_place)
        outcome = sb_copy_own(parts->send, &parts->receive[team->rank]);
    outcome = sb_first(outcome, gather(team, parts->receive));
    return team->failure == SB_OK ? sb_first(outcome, broadcast(team, &all)) : outcome;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double levels = sb_rounds(shape->ranks);

    return (shape->ranks - 1 + levels) * 2 * price->line +
           (shape->ranks - 1) * (1 + levels) * 2 * price->byte * (double)bytes +
           sb_cost_turns(shape, 1 + levels);
}

#define GATHER_BCAST(of)                                                                           \
    {                                                                                              \
        .name = "p2p-gather-bcast", .collective = of,                                              \
        .doc = "Rank 0 receives all parts and sends them down a binomial tree. For comparison.",   \
        .source = "Open MPI, coll/base", .on_request = true, .prepare = sb_pairs_prepare,          \
        .cost = cost, .parts = run,                                                                \
    }

const sb_algorithm_t sb_allgather_p2p_gather_bcast = GATHER_BCAST(SB_ALLGATHER);
const sb_algorithm_t sb_allgatherv_p2p_gather_bcast = GATHER_BCAST(SB_ALLGATHERV);
