/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan and Exscan made of sends and receives, for comparison: in round i two ranks that differ in
 * bit i exchange the combination of their groups of 2^i ranks, and both combine it; the higher one
 * adds it in front of its result too. Cost: log2 p messages one after the other; 2 log2 p copies of
 * each byte and up to 2 log2 p combinations. Memory: a ring of at most 32 KiB and 256 bytes for
 * each other rank; private memory of two messages. Preconditions: the pairs. The order is that of
 * ranks, with brackets. Source: the recursive doubling of MPI libraries (Thakur, Rabenseifner,
 * Gropp, 2005).
 *
 * No deadlock: two ranks that exchange do so in steps, see sb_pair_exchange.
 */
#include "baseline/pairs.h"
#include "coll/reduction/reduction.h"

#include <stdlib.h>

typedef struct prefix {
    const sb_reduction_t *reduction;
    char *group; /* the combination of this rank's group */
    char *incoming;
    bool begun; /* there is a result */
} prefix_t;

/* What comes from lower ranks goes in front of the result. */
static sb_status_t add_in_front(prefix_t *prefix)
{
    const sb_reduction_t *reduction = prefix->reduction;
    const void *from[] = {prefix->incoming, reduction->receive};

    if (prefix->begun)
        return sb_combine(reduction->operation, reduction->receive, from, 2, reduction->bytes);
    sb_copy(reduction->receive, prefix->incoming, reduction->bytes);
    prefix->begun = true;
    return SB_OK;
}

static sb_status_t exchange(sb_team_t *team, prefix_t *prefix, uint32_t partner)
{
    const sb_reduction_t *reduction = prefix->reduction;
    sb_stream_t mine = {.base = prefix->group, .bytes = reduction->bytes};
    sb_stream_t theirs = {.base = prefix->incoming, .bytes = reduction->bytes};
    sb_status_t status = sb_pair_exchange(team, partner, &mine, partner, &theirs);
    const void *lower[] = {prefix->incoming, prefix->group};
    const void *upper[] = {prefix->group, prefix->incoming};

    if (status != SB_OK)
        return status;
    status = partner < team->rank ? add_in_front(prefix) : SB_OK;
    return sb_first(status, sb_combine(reduction->operation, prefix->group,
                                       partner < team->rank ? lower : upper, 2, reduction->bytes));
}

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction, bool inclusive)
{
    prefix_t prefix = {.reduction = reduction, .begun = inclusive};
    sb_status_t outcome = SB_OK;
    char *room;

    if (reduction->bytes == 0)
        return SB_OK;
    room = malloc(2 * reduction->bytes);
    if (room == NULL)
        return SB_ERR_MEMORY;
    prefix.group = room;
    prefix.incoming = room + reduction->bytes;
    sb_copy(prefix.group, reduction->send, reduction->bytes);
    if (inclusive && reduction->send != reduction->receive)
        sb_copy(reduction->receive, reduction->send, reduction->bytes);
    for (uint32_t bit = 1; bit < team->size && team->failure == SB_OK; bit *= 2) {
        uint32_t partner = team->rank ^ bit;
        if (partner < team->size)
            outcome = sb_first(outcome, exchange(team, &prefix, partner));
    }
    free(room);
    return outcome;
}

static sb_status_t scan(sb_team_t *team, const sb_reduction_t *reduction)
{
    return run(team, reduction, true);
}

static sb_status_t exscan(sb_team_t *team, const sb_reduction_t *reduction)
{
    return run(team, reduction, false);
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    return sb_rounds(shape->ranks) * (2 * price->line + 5 * price->byte * (double)bytes) +
           sb_cost_turns(shape, sb_rounds(shape->ranks));
}

#define DOUBLING(of, function)                                                                     \
    {                                                                                              \
        .name = "p2p-recursive-doubling", .collective = of,                                        \
        .doc = "Two ranks exchange the combination of their groups, in log2 p rounds. For "        \
               "comparison.",                                                                      \
        .source = "the recursive doubling of MPI libraries (Thakur et al. 2005)",                  \
        .on_request = true, .prepare = sb_pairs_prepare, .cost = cost, .reduction = function,      \
        .brackets = true,                                                                          \
    }

const sb_algorithm_t sb_scan_p2p_recursive_doubling = DOUBLING(SB_SCAN, scan);
const sb_algorithm_t sb_exscan_p2p_recursive_doubling = DOUBLING(SB_EXSCAN, exscan);
