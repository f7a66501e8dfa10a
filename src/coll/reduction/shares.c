/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/reduction/shares.h"

#include "coll/barrier/barrier.h"
#include "coll/vector/around.h"

#include <stdlib.h>

#define PAGE 4096
#define DEPTH_LEAST 3
#define BUFFER_LEAST ((size_t)1 << 10)
#define BUFFER_MOST ((size_t)256 << 10)
/* What passes through a ring should stay in the second-level cache, which ranks may share. */
#define RING_CROWDED ((size_t)128 << 10)
#define RING_USUAL ((size_t)256 << 10)
/* Few ranks get more, for messages that are dealt out in parts: together so many usual ones. */
#define RINGS_TOGETHER 8

/* Of the barriers that suit some team each. */
static const struct sb_algorithm *best_barrier(const sb_shape_t *shape)
{
    static const struct sb_algorithm *const barriers[] = {&sb_barrier_flat, &sb_barrier_counter,
                                                          &sb_barrier_exchange};
    const struct sb_algorithm *best = barriers[0];

    for (size_t i = 1; i < SB_COUNT_OF(barriers); i++) {
        if (barriers[i]->cost(shape, 0) < best->cost(shape, 0))
            best = barriers[i];
    }
    return best;
}

double sb_shares_steps_cost(const sb_shape_t *shape, double steps)
{
    /* A barrier counts its own turn at the price of the switch. */
    double turns = sb_fold_turns(shape, 1) - sb_cost_turns(shape, 1);

    return steps * (best_barrier(shape)->cost(shape, 0) + turns);
}

/*
 * Writes where the ranks of each unit begin, and behind the last, p. Returns how many units there
 * are; 0 if some rank has none, or is alone, or not beside the others of its unit, or if there are
 * too many.
 */
static uint32_t find_groups(const sb_homes_t *homes, sb_level_kind_t level, uint32_t size,
                            uint32_t *first)
{
    uint32_t groups = 0;
    int16_t last = -1;

    for (uint32_t rank = 0; rank < size; rank++) {
        int16_t unit = homes->unit[rank][level];
        if (unit >= 0 && unit == last)
            continue;
        bool alone = groups > 0 && rank - first[groups - 1] < 2;
        if (unit <= last || alone || groups == SB_SHARES_GROUPS)
            return 0;
        first[groups++] = rank;
        last = unit;
    }
    first[groups] = size;
    return size - first[groups - 1] < 2 ? 0 : groups;
}

static void group_ranks(sb_team_t *team, sb_shares_t *shares)
{
    sb_shape_t shape = {.ranks = team->size,
                        .oversubscribed = team->oversubscribed,
                        .processors = team->processors,
                        .barrier_arity = team->settings.barrier_arity};

    if (team->homes.refusal == NULL && team->homes.unit != NULL) {
        shares->groups = find_groups(&team->homes, SB_LEVEL_NUMA, team->size, shares->first);
        if (shares->groups == 0)
            shares->groups = find_groups(&team->homes, SB_LEVEL_PACKAGE, team->size, shares->first);
    }
    if (shares->groups == 0) {
        shares->groups = 1;
        shares->first[0] = 0;
        shares->first[1] = team->size;
    }
    while (team->rank >= shares->first[shares->group + 1])
        shares->group++;
    shares->depth = (uint32_t)sb_max(shares->groups + 1, DEPTH_LEAST);
    shares->barrier = best_barrier(&shape);
}

static size_t largest_power(size_t most)
{
    size_t power = 1;

    while (power <= most / 2)
        power *= 2;
    return power;
}

/* A ring is so many times the part of it where most messages go round. */
static size_t spans_of(const sb_team_t *team)
{
    return team->oversubscribed ? 1 : largest_power(sb_max(1, RINGS_TOGETHER / team->size));
}

sb_status_t sb_shares_prepare(sb_team_t *team)
{
    if (SB_LIKELY(team->shares != NULL))
        return SB_OK;
    if (team->shares_share.state == SB_SHARE_REFUSED)
        return SB_ERR_UNSUPPORTED;
    size_t scratch = sizeof(sb_shares_t) + (SB_SHARES_GROUPS + 1) * sizeof(uint32_t);
    sb_shares_t *made = calloc(1, scratch + SB_SHARES_SCRATCH * SB_SHARES_PIECE);
    sb_shares_t form = {.depth = SB_SHARES_GROUPS + 1};
    /* A scan keeps something of every rank. */
    size_t least = sb_max(BUFFER_LEAST, 2 * SB_LINE * (size_t)team->size);
    if (made != NULL) {
        group_ranks(team, made);
        form.depth = made->depth;
    }
    size_t buffers = 3 * (size_t)form.depth + 1, head = sizeof(sb_shares_head_t);
    size_t ring = spans_of(team) * (team->oversubscribed ? RING_CROWDED : RING_USUAL);
    size_t wish = sb_min((size_t)team->settings.ring_bytes, (buffers - 1) * BUFFER_MOST + ring);
    sb_status_t status = sb_share_make(team, &team->shares_share,
                                       sb_round_up(head + sb_max(wish, buffers * least), PAGE),
                                       sb_round_up(head + buffers * least, PAGE), made != NULL);
    if (status != SB_OK) {
        free(made);
        return status;
    }
    size_t room = team->shares_share.bytes - head;
    made->buffer = sb_min(room / buffers & ~(size_t)(SB_LINE - 1), BUFFER_MOST);
    made->ring_at = head + (buffers - 1) * made->buffer;
    made->ring = largest_power(sb_min(team->shares_share.bytes - made->ring_at, ring));
    made->span = made->ring / spans_of(team);
    made->scratch = (char *)made + scratch;
    made->around_above = sb_around_above(team);
    team->shares = made;
    return SB_OK;
}
