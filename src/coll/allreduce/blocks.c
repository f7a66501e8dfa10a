/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce over blocks: eight ranks side by side form a block, whose leader combines what they
 * publish in their slots; blocks form larger ones in the same way until at most eight leaders are
 * left, who read each other's partial results and combine them all. Results go down again: each
 * leader publishes the result for all that it leads. A message of more than one slot goes in pieces
 * of 2 KiB, some of them at once. Cost: for each of about log8 p stages a line transfer up and one
 * down and the lines of a block looked at; at most eight sources combined at a time. Memory: none
 * beyond the lanes for what fits a slot, else 16 pieces in the workspace. Preconditions: none;
 * fastest where ranks side by side are near each other. The order is that of ranks, with brackets
 * around blocks; blocks follow from p alone. Source: ours; the way of arrivals is that of the
 * exchange barrier.
 */
#include "coll/reduction/blocks.h"

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    return sb_blocks_reduce(team, reduction, SB_TAKER_ALL);
}

/*
 * The price of long pieces is that of ranks that share processors. Of what it says, this is left
 * where several blocks of one package have a processor for each rank, as simulated.
 */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    bool calm = shape->ranks >= 2 * SB_BLOCK_MOST && !shape->oversubscribed && !shape->apart;

    return (calm && bytes > SB_SLOT_PAYLOAD ? price->block_calm : 1) *
           sb_blocks_cost(shape, bytes, SB_BLOCKS_DOWN);
}

const sb_algorithm_t sb_allreduce_blocks = {
    .name = "blocks",
    .collective = SB_ALLREDUCE,
    .doc = "Blocks of eight ranks combine what they publish in slots, leaders go on with partial "
           "results; the last eight read each other's, and results go down again.",
    .source = "Sobor; see docs/reductions.md",
    .prepare = sb_blocks_prepare,
    .prepare_above = SB_SLOT_PAYLOAD,
    .cost = cost,
    .reduction = run,
    .brackets = true,
};
