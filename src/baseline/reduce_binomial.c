/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce made of sends and receives, for comparison: ranks side by side stand together, by two, by
 * four, by eight; the first of each group holds the combination, or the root where it is a member.
 * In each round the holder of one half sends to that of the whole. Cost: log2 p messages one after
 * the other; 2 copies of each byte and one combination of each. Memory: a ring of at most 32 KiB
 * and 256 bytes for each other rank; private memory of two messages. Preconditions: the pairs. The
 * order is that of ranks, with brackets, whatever the root. Source: the binomial tree of MPI
 * libraries (Thakur, Rabenseifner, Gropp, 2005).
 */
#include "baseline/pairs.h"
#include "coll/reduction/reduction.h"

#include <stdlib.h>

typedef struct climb {
    const sb_reduction_t *reduction;
    const char *value; /* what this rank holds: its contribution, later `sum` */
    char *sum;
    char *incoming;
} climb_t;

/* Who holds the combination of the ranks from `first` on, so many as `width`. */
static uint32_t holder(const climb_t *climb, uint32_t first, uint32_t width)
{
    uint32_t root = climb->reduction->root;

    return root >= first && root - first < width ? root : first;
}

static sb_status_t take(sb_team_t *team, climb_t *climb, uint32_t from, bool before)
{
    const sb_reduction_t *reduction = climb->reduction;
    sb_stream_t stream = {.base = climb->incoming, .bytes = reduction->bytes};
    sb_status_t status = sb_pair_receive(team, from, &stream);
    const void *lower[] = {climb->incoming, climb->value};
    const void *upper[] = {climb->value, climb->incoming};

    if (status != SB_OK)
        return status;
    climb->value = climb->sum;
    return sb_combine(reduction->operation, climb->sum, before ? lower : upper, 2,
                      reduction->bytes);
}

static sb_status_t go(sb_team_t *team, climb_t *climb)
{
    uint32_t rank = team->rank;
    sb_status_t outcome = SB_OK;

    for (uint32_t width = 1; width < team->size && team->failure == SB_OK; width *= 2) {
        uint32_t own = rank / width * width, other = own ^ width;
        uint32_t whole = holder(climb, own & ~width, 2 * width);
        if (other >= team->size)
            continue;
        if (rank != whole) {
            sb_stream_t stream = {.base = (char *)(uintptr_t)climb->value,
                                  .bytes = climb->reduction->bytes};
            return sb_first(outcome, sb_pair_send(team, whole, &stream));
        }
        outcome = sb_first(outcome, take(team, climb, holder(climb, other, width), other < own));
    }
    return outcome;
}

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    bool root = team->rank == reduction->root;
    climb_t climb = {.reduction = reduction, .value = reduction->send};
    char *room;

    if (reduction->bytes == 0)
        return SB_OK;
    room = malloc(2 * reduction->bytes);
    if (room == NULL)
        return SB_ERR_MEMORY;
    climb.incoming = room;
    climb.sum = root ? reduction->receive : room + reduction->bytes;
    sb_status_t outcome = go(team, &climb);
    if (root && climb.value != reduction->receive)
        sb_copy(reduction->receive, climb.value, reduction->bytes);
    free(room);
    return outcome;
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    return sb_rounds(shape->ranks) * (2 * price->line + 3 * price->byte * (double)bytes) +
           sb_cost_turns(shape, sb_rounds(shape->ranks));
}

const sb_algorithm_t sb_reduce_p2p_binomial = {
    .name = "p2p-binomial",
    .collective = SB_REDUCE,
    .doc = "Groups of two, four, eight ranks combine what they have, in log2 p rounds. For "
           "comparison.",
    .source = "the binomial tree of MPI libraries (Thakur et al. 2005)",
    .on_request = true,
    .prepare = sb_pairs_prepare,
    .cost = cost,
    .reduction = run,
    .brackets = true,
};
