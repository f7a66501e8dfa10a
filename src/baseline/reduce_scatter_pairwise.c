/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter and Reduce_scatter_block made of sends and receives, for comparison: in p - 1
 * rounds every rank sends one other that rank's part of its contribution, in round k to the one k
 * places to the right, and combines what comes from k places to the left. Cost: p - 1 messages one
 * after the other; 2 copies of each byte and one combination. Memory: a ring of at most 32 KiB and
 * 256 bytes for each other rank; private memory of two parts. Preconditions: the pairs. The order
 * begins with this rank and goes to the left. Source: the pairwise exchange of MPI libraries
 * (Thakur, Rabenseifner, Gropp, 2005).
 *
 * No deadlock: see sb_pair_exchange.
 */
#include "baseline/pairs.h"
#include "coll/reduction/reduction.h"

#include <stdlib.h>

/* The part of one rank, within a contribution. */
static sb_stream_t part_of(const sb_team_t *team, const sb_reduction_t *reduction, uint32_t rank)
{
    size_t equal = reduction->bytes / team->size, from = equal * rank, bytes = equal;

    if (reduction->parts != NULL) {
        from = 0;
        for (uint32_t i = 0; i < rank; i++)
            from += reduction->parts[i];
        bytes = reduction->parts[rank];
    }
    return (sb_stream_t){.base = (char *)(uintptr_t)reduction->send + from, .bytes = bytes};
}

static sb_status_t exchange(sb_team_t *team, const sb_reduction_t *reduction, uint32_t round,
                            char *sum, const sb_stream_t *incoming)
{
    uint32_t right = (team->rank + round) % team->size;
    uint32_t left = (team->rank + team->size - round) % team->size;
    sb_stream_t sent = part_of(team, reduction, right);
    sb_status_t status = sb_pair_exchange(team, right, &sent, left, incoming);
    const void *from[] = {sum, incoming->base};

    if (status != SB_OK || incoming->bytes == 0)
        return status;
    return sb_combine(reduction->operation, sum, from, 2, incoming->bytes);
}

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    sb_stream_t own = part_of(team, reduction, team->rank);
    /* In place, what is received would lie where other ranks' parts are. */
    bool apart = reduction->send == reduction->receive || reduction->receive == NULL;
    char *room = malloc(2 * own.bytes + 1);
    char *sum = apart ? room + own.bytes : reduction->receive;
    sb_stream_t incoming = {.base = room, .bytes = own.bytes};
    sb_status_t outcome = SB_OK;

    if (room == NULL)
        return SB_ERR_MEMORY;
    sb_copy(sum, own.base, own.bytes);
    for (uint32_t round = 1; round < team->size && team->failure == SB_OK; round++)
        outcome = sb_first(outcome, exchange(team, reduction, round, sum, &incoming));
    if (apart && reduction->receive != NULL)
        sb_copy(reduction->receive, sum, own.bytes);
    free(room);
    return outcome;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    return (shape->ranks - 1) * (2 * price->line) + 3 * price->byte * (double)bytes +
           sb_cost_turns(shape, shape->ranks - 1);
}

#define PAIRWISE(of)                                                                               \
    {                                                                                              \
        .name = "p2p-pairwise", .collective = of,                                                  \
        .doc = "Every rank sends each other its part and combines what comes for itself. For "     \
               "comparison.",                                                                      \
        .source = "the pairwise exchange of MPI libraries (Thakur et al. 2005)",                   \
        .on_request = true, .prepare = sb_pairs_prepare, .cost = cost, .reduction = run,           \
        .reorders = true,                                                                          \
    }

const sb_algorithm_t sb_reduce_scatter_p2p_pairwise = PAIRWISE(SB_REDUCE_SCATTER);
const sb_algorithm_t sb_reduce_scatter_block_p2p_pairwise = PAIRWISE(SB_REDUCE_SCATTER_BLOCK);
