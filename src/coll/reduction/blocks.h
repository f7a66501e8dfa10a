/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_REDUCTION_BLOCKS_H
#define SB_COLL_REDUCTION_BLOCKS_H

#include "coll/reduction/slots.h"

/*
 * Blocks of ranks side by side: some ranks form a block, led by the first; some blocks form a
 * larger one, and so on until few leaders are left, who meet. The sizes follow from the number of
 * ranks alone, so that the brackets around partial results do.
 */
#define SB_BLOCK_MOST 8 /* ranks of a block, or blocks, and leaders that meet */

/* Members of a block of those that step by `unit`. */
static inline uint32_t sb_block_fan(uint32_t ranks, uint32_t unit)
{
    uint32_t left = (ranks + unit - 1) / unit;
    uint32_t parts = (left + SB_BLOCK_MOST - 1) / SB_BLOCK_MOST;

    return (left + parts - 1) / parts;
}

/* The step between the leaders that meet. */
static inline uint32_t sb_block_top(uint32_t ranks)
{
    uint32_t unit = 1;

    while ((ranks + unit - 1) / unit > SB_BLOCK_MOST)
        unit *= sb_block_fan(ranks, unit);
    return unit;
}

/*
 * To be called by all before a piece whose first use this is, and which has so many. Where all
 * leaders have met in the piece before, all ranks were done with what came before that: so a few
 * flags tell what otherwise a flag of each rank does.
 */
void sb_blocks_begin(sb_team_t *team, uint64_t use, uint64_t uses);

/* How a rank stands in the blocks once it has climbed. */
typedef struct sb_climb {
    uint32_t leader; /* of the block that it does not lead, if it does not meet */
    bool leads;      /* a block */
    bool meets;
} sb_climb_t;

/*
 * Combines the piece at `offset` over the blocks that this rank leads, and publishes what it has in
 * its slot of `use`.
 */
sb_status_t sb_blocks_climb(sb_team_t *team, const sb_reduction_t *reduction, uint64_t use,
                            size_t offset, size_t bytes, sb_climb_t *climb, sb_status_t *data);

/* Combines to `to` what those who meet have published. */
sb_status_t sb_blocks_meet(sb_team_t *team, const sb_reduction_t *reduction, uint64_t use, void *to,
                           size_t bytes, sb_status_t *data);

/* Expected time of the way up, and of the meeting. */
double sb_blocks_cost(const sb_shape_t *shape, size_t bytes);

#endif
