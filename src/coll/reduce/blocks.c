/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce over blocks: eight ranks side by side form a block, whose leader combines what they
 * publish in their slots; blocks form larger ones in the same way until at most eight leaders are
 * left. The root, whoever it is, combines what these have published; the others go on. Cost: for
 * each of about log8 p stages a line transfer and the lines of a block looked at. Memory: as the
 * allreduce over blocks, and pieces likewise. Preconditions: none; fastest where ranks side by side
 * are near each other. The order is that of ranks, with brackets around blocks; blocks follow from
 * p alone. Source: ours.
 */
#include "coll/reduction/blocks.h"

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_blocks_reduce(team, reduction, SB_TAKER_ROOT);
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    return sb_blocks_cost(shape, bytes, SB_BLOCKS_UP);
}

const sb_algorithm_t sb_reduce_blocks = {
    .name = "blocks",
    .collective = SB_REDUCE,
    .doc = "Blocks of eight ranks combine what they publish in slots, leaders go on with partial "
           "results; the root combines those of the last eight.",
    .source = "Sobor; see docs/reductions.md",
    .prepare = sb_blocks_prepare,
    .prepare_above = SB_SLOT_PAYLOAD,
    .cost = cost,
    .reduction = run,
    .brackets = true,
};
