/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_COLL_REDUCTION_K_ARY_TREE_H
#define SB_COLL_REDUCTION_K_ARY_TREE_H

#include "coll/bcast/message.h"
#include "coll/reduction/workspace.h"

/*
 * Blocks of ranks side by side: some ranks form a block, led by the first; some blocks form a
 * larger one, and so on until few leaders are left, who meet. The sizes follow from the number of
 * ranks alone, so that the brackets around partial results do.
 */
/* Blocks have five members at least, where there are more than one: enough for 2^16 ranks. */
#define SB_BLOCK_LEVELS 8
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
 * To be called by all before a piece, or several, whose first use this is, and which have so many.
 * Waits until their slots are free. Where all leaders that meet have published an earlier piece,
 * all ranks were done with what came before that: so a few flags tell what otherwise a flag of each
 * rank does.
 */
sb_status_t sb_blocks_begin(sb_team_t *team, uint64_t use, uint64_t uses);

/* For messages that do not fit one slot. */
sb_status_t sb_blocks_prepare(sb_team_t *team);

/* Whether the message goes in pieces that are longer than a slot. */
static inline bool sb_blocks_large(const sb_team_t *team, size_t bytes)
{
    return bytes > SB_SLOT_PAYLOAD && sb_workspace(team) != NULL;
}

/*
 * Where the rank's data of this use is. The flags of longer pieces are those of the slots, the data
 * is in the workspace.
 */
static inline char *sb_blocks_data(const sb_team_t *team, const sb_reduction_t *reduction,
                                   uint32_t rank, uint64_t use)
{
    return sb_blocks_large(team, reduction->bytes) ? sb_workspace_piece(team, rank, use)
                                                   : (char *)sb_slot(team, rank, use)->payload;
}

static inline size_t sb_blocks_piece(const sb_team_t *team, const sb_reduction_t *reduction)
{
    size_t room = sb_blocks_large(team, reduction->bytes) ? SB_WORKSPACE_PIECE : SB_SLOT_PAYLOAD;

    return room / reduction->operation->element * reduction->operation->element;
}

/* Some of the ranks, each so far from the one before. */
typedef struct sb_block_ranks {
    uint32_t first, end, step;
} sb_block_ranks_t;

/* Adds what they have published in that use, from the byte `skip` on. */
sb_status_t sb_blocks_add(sb_team_t *team, const sb_reduction_t *reduction, uint64_t use,
                          sb_block_ranks_t ranks, size_t skip, sb_fold_t *fold);

/* The way up and the meeting; and with the way down, which a block reads at once. */
#define SB_BLOCKS_UP 1.0
#define SB_BLOCKS_DOWN 1.6

/* Expected time. */
double sb_blocks_cost(const sb_shape_t *shape, size_t bytes, double ways);
/* What the last stage of that takes of it, where each rank has a processor. */
double sb_blocks_last_cost(const sb_shape_t *shape, size_t bytes);

#endif
