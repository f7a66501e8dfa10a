/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_EXCHANGES_H
#define SB_BASELINE_EXCHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The schedule of the block algorithm of global data distribution (BAGDS): who exchanges blocks
 * with whom, stage by stage, until each of some members has the block of every other. It follows
 * from the number of members alone, so all compute it alike. A set of blocks is a row of bits.
 */

/* A pair of a stage, with what both have before it. */
typedef void sb_exchange_visit_t(void *context, uint32_t stage, const uint32_t pair[2],
                                 const uint64_t *const has[2]);

/* Calls `visit` for each exchange, in order; NULL: nothing is called. Returns the number of stages,
 * or UINT32_MAX: private memory is exhausted. */
uint32_t sb_exchanges(uint32_t members, sb_exchange_visit_t *visit, void *context);

/* One member's part of the schedule. It has no pointers: its bytes may be copied. */
typedef struct sb_bagds {
    uint32_t members;
    uint32_t stages;
    uint64_t row[]; /* for each stage: the partner, then what this member has, and what that has */
} sb_bagds_t;

/* To be freed by free(). NULL: private memory is exhausted. */
sb_bagds_t *sb_bagds_new(uint32_t members, uint32_t self);

static inline size_t sb_bagds_words(uint32_t members)
{
    return ((size_t)members + 63) / 64;
}

static inline size_t sb_bagds_bytes(uint32_t members, uint32_t stages)
{
    return sizeof(sb_bagds_t) + stages * (1 + 2 * sb_bagds_words(members)) * sizeof(uint64_t);
}

static inline bool sb_block_in(const uint64_t *set, uint32_t block)
{
    return (set[block / 64] >> block % 64 & 1) != 0;
}

/* With whom this member exchanges blocks in a stage; `members`: with nobody. */
static inline uint32_t sb_bagds_partner(const sb_bagds_t *bagds, uint32_t stage)
{
    return (uint32_t)bagds->row[stage * (1 + 2 * sb_bagds_words(bagds->members))];
}

/* Whether a block goes to the partner in a stage, or comes from it. */
static inline bool sb_bagds_moves(const sb_bagds_t *bagds, uint32_t stage, uint32_t block,
                                  bool comes)
{
    size_t words = sb_bagds_words(bagds->members);
    const uint64_t *own = &bagds->row[stage * (1 + 2 * words) + 1], *other = own + words;

    return comes ? sb_block_in(other, block) && !sb_block_in(own, block)
                 : sb_block_in(own, block) && !sb_block_in(other, block);
}

#endif
