/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce made of sends and receives, for comparison: in round i two ranks that differ in bit i
 * exchange what they have, and both combine it. Where p is not a power of two, P being the largest
 * below, the first p - P pairs of neighbours begin by combining what they have, at the upper one,
 * which stands for both and tells the lower one the result. Cost: log2 p messages one after the
 * other; 2 log2 p copies of each byte and log2 p combinations. Memory: a ring of at most 32 KiB and
 * 256 bytes for each other rank; private memory of the message. Preconditions: the pairs. The order
 * is that of ranks, with brackets. Source: the recursive doubling of MPI libraries (Thakur,
 * Rabenseifner, Gropp, 2005).
 *
 * No deadlock: two ranks that exchange do so in steps, see sb_pair_exchange.
 */
#include "baseline/pairs.h"
#include "coll/reduction/reduction.h"

#include <stdlib.h>

/* What the partner sent, and where: before or behind this rank's. */
static sb_status_t combine(const sb_reduction_t *reduction, const char *incoming, bool before)
{
    const void *lower[] = {incoming, reduction->receive};
    const void *upper[] = {reduction->receive, incoming};

    return sb_combine(reduction->operation,
                      before ? (void *)(uintptr_t)incoming : reduction->receive,
                      before ? lower : upper, 2, reduction->bytes);
}

static sb_status_t take(const sb_reduction_t *reduction, const char *incoming, bool before)
{
    sb_status_t status = combine(reduction, incoming, before);

    if (before)
        sb_copy(reduction->receive, incoming, reduction->bytes);
    return status;
}

/* A rank that stands for itself or for two, as number `place` of `power`. */
static sb_status_t exchange(sb_team_t *team, const sb_reduction_t *reduction, uint32_t place,
                            uint32_t power, char *incoming)
{
    uint32_t doubled = team->size - power;
    sb_stream_t mine = {.base = reduction->receive, .bytes = reduction->bytes};
    sb_stream_t theirs = {.base = incoming, .bytes = reduction->bytes};
    sb_status_t outcome = SB_OK;

    for (uint32_t bit = 1; bit < power && team->failure == SB_OK; bit *= 2) {
        uint32_t other = place ^ bit;
        uint32_t partner = other < doubled ? 2 * other + 1 : other + doubled;
        outcome = sb_first(outcome, sb_pair_exchange(team, partner, &mine, partner, &theirs));
        outcome = sb_first(outcome, take(reduction, incoming, other < place));
    }
    return outcome;
}

static sb_status_t double_up(sb_team_t *team, const sb_reduction_t *reduction, char *incoming)
{
    uint32_t rank = team->rank, power = 1;
    sb_stream_t mine = {.base = reduction->receive, .bytes = reduction->bytes};
    sb_stream_t theirs = {.base = incoming, .bytes = reduction->bytes};

    while (power * 2 <= team->size)
        power *= 2;
    uint32_t doubled = team->size - power;
    if (rank >= 2 * doubled)
        return exchange(team, reduction, rank - doubled, power, incoming);
    if (rank % 2 == 0) {
        sb_status_t sent = sb_pair_send(team, rank + 1, &mine);
        return sb_first(sent, sb_pair_receive(team, rank + 1, &mine));
    }
    sb_status_t outcome = sb_pair_receive(team, rank - 1, &theirs);
    outcome = sb_first(outcome, take(reduction, incoming, true));
    outcome = sb_first(outcome, exchange(team, reduction, rank / 2, power, incoming));
    return sb_first(outcome, sb_pair_send(team, rank - 1, &mine));
}

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    char *incoming;

    if (reduction->send != reduction->receive)
        sb_copy(reduction->receive, reduction->send, reduction->bytes);
    if (reduction->bytes == 0 || team->size == 1)
        return SB_OK;
    incoming = malloc(reduction->bytes);
    if (incoming == NULL)
        return SB_ERR_MEMORY;
    sb_status_t outcome = double_up(team, reduction, incoming);
    free(incoming);
    return outcome;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    return sb_rounds(shape->ranks) * (2 * price->line + 4 * price->byte * (double)bytes) +
           sb_cost_turns(shape, sb_rounds(shape->ranks));
}

const sb_algorithm_t sb_allreduce_p2p_recursive_doubling = {
    .name = "p2p-recursive-doubling",
    .collective = SB_ALLREDUCE,
    .doc = "Two ranks exchange what they have and combine it, in log2 p rounds. For comparison.",
    .source = "the recursive doubling of MPI libraries (Thakur et al. 2005)",
    .on_request = true,
    .prepare = sb_pairs_prepare,
    .cost = cost,
    .reduction = run,
    .brackets = true,
};
