/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter and Reduce_scatter_block over blocks: eight ranks side by side form a block, whose
 * leader combines what they publish in their slots; blocks form larger ones in the same way until
 * at most eight leaders are left. Of a piece of the message each of these reads what the ranks
 * below it want, and combines it; from leader to leader what is wanted below goes down again. Who
 * wants nothing of a piece goes on once its contribution is published. A few pieces are under way
 * at once. Cost: for each of about log8 p stages a line transfer up and one down, and the lines of
 * a block looked at; at most eight sources combined at a time. Memory: as the allreduce over
 * blocks. Preconditions: none; fastest where ranks side by side are near each other. The order is
 * that of ranks, with brackets around blocks; blocks follow from p alone. Source: ours; the way up
 * is that of the allreduce over blocks.
 */
#include "coll/reduction/blocks.h"

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_blocks_reduce(team, reduction, SB_TAKER_EACH);
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    return sb_blocks_cost(shape, bytes, SB_BLOCKS_DOWN);
}

#define BLOCKS(of)                                                                                 \
    {                                                                                              \
        .name = "blocks", .collective = of,                                                        \
        .doc = "Blocks of eight ranks combine what they publish in slots, leaders go on with "     \
               "partial results; what is wanted below the last eight goes down again.",            \
        .source = "Sobor; see docs/reductions.md", .prepare = sb_blocks_prepare,                   \
        .prepare_above = SB_SLOT_PAYLOAD, .cost = cost, .reduction = run, .brackets = true,        \
    }

const sb_algorithm_t sb_reduce_scatter_blocks = BLOCKS(SB_REDUCE_SCATTER);
const sb_algorithm_t sb_reduce_scatter_block_blocks = BLOCKS(SB_REDUCE_SCATTER_BLOCK);
