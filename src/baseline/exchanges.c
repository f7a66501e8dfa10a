/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedule of BAGDS: in each stage members are taken in turn, and each that has no partner yet
 * and lacks a block gets the first one without a partner that has something it lacks; afterwards
 * both have what either had. The exchanges of a stage run at once. Cost: log2 p stages for p a
 * power of two, else more: 5 for 5, 10 for 100; of p^3 steps to compute, at worst, a word of bits
 * each. Memory: p^2 bits while it is computed. Source: the block algorithm of global data
 * distribution, published with measurements of cluster platforms on Fast and Gigabit Ethernet.
 */
#include "baseline/exchanges.h"

#include <stdlib.h>
#include <string.h>

typedef struct state {
    uint32_t members;
    size_t words;
    uint64_t *has;     /* a row for each member */
    uint32_t *partner; /* in the present stage; members: none */
} state_t;

static uint64_t *row(const state_t *state, uint32_t member)
{
    return state->has + member * state->words;
}

static bool has_what_lacks(const state_t *state, uint32_t giver, uint32_t taker)
{
    const uint64_t *given = row(state, giver), *had = row(state, taker);

    for (size_t i = 0; i < state->words; i++) {
        if ((given[i] & ~had[i]) != 0)
            return true;
    }
    return false;
}

/* The first member without a partner that has something; `members`: there is none. */
static uint32_t find_partner(const state_t *state, uint32_t member)
{
    uint32_t other = 0;

    while (other < state->members &&
           (state->partner[other] != state->members || !has_what_lacks(state, other, member)))
        other++;
    return other;
}

static void unite(const state_t *state, uint32_t member, uint32_t other)
{
    uint64_t *one = row(state, member), *two = row(state, other);

    for (size_t i = 0; i < state->words; i++)
        one[i] = two[i] |= one[i];
}

/* False: there was nothing to exchange. */
static bool run_stage(const state_t *state, uint32_t stage, sb_exchange_visit_t *visit,
                      void *context)
{
    bool any = false;

    for (uint32_t i = 0; i < state->members; i++)
        state->partner[i] = state->members;
    for (uint32_t i = 0; i < state->members; i++) {
        uint32_t other = state->partner[i] == state->members ? find_partner(state, i) : i;
        if (other == i || other == state->members)
            continue;
        if (visit != NULL)
            visit(context, stage, (const uint32_t[]){i, other},
                  (const uint64_t *const[]){row(state, i), row(state, other)});
        state->partner[i] = other;
        state->partner[other] = i;
        unite(state, i, other);
        any = true;
    }
    return any;
}

uint32_t sb_exchanges(uint32_t members, sb_exchange_visit_t *visit, void *context)
{
    state_t state = {.members = members, .words = sb_bagds_words(members)};
    uint32_t stages = UINT32_MAX;

    state.has = calloc(members * state.words + 1, sizeof *state.has);
    state.partner = calloc((size_t)members + 1, sizeof *state.partner);
    if (state.has != NULL && state.partner != NULL) {
        for (uint32_t i = 0; i < members; i++)
            row(&state, i)[i / 64] |= UINT64_C(1) << i % 64;
        for (stages = 0; run_stage(&state, stages, visit, context); stages++)
            ;
    }
    free(state.has);
    free(state.partner);
    return stages;
}

/* --- one member's part --------------------------------------------------------------------- */

typedef struct part {
    sb_bagds_t *bagds;
    uint32_t self;
} part_t;

static void note(void *context, uint32_t stage, const uint32_t pair[2],
                 const uint64_t *const has[2])
{
    const part_t *part = context;
    size_t words = sb_bagds_words(part->bagds->members);
    uint64_t *at = &part->bagds->row[stage * (1 + 2 * words)];
    uint32_t own = pair[1] == part->self;

    if (pair[own] != part->self)
        return;
    at[0] = pair[!own];
    memcpy(at + 1, has[own], words * sizeof *at);
    memcpy(at + 1 + words, has[!own], words * sizeof *at);
}

sb_bagds_t *sb_bagds_new(uint32_t members, uint32_t self)
{
    uint32_t stages = sb_exchanges(members, NULL, NULL);
    part_t part = {.self = self};

    if (stages != UINT32_MAX)
        part.bagds = calloc(1, sb_bagds_bytes(members, stages));
    if (part.bagds == NULL)
        return NULL;
    *part.bagds = (sb_bagds_t){.members = members, .stages = stages};
    for (uint32_t i = 0; i < stages; i++)
        part.bagds->row[i * (1 + 2 * sb_bagds_words(members))] = members;
    if (sb_exchanges(members, note, &part) == stages)
        return part.bagds;
    free(part.bagds);
    return NULL;
}
