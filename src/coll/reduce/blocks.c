/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce over blocks: eight ranks side by side form a block, whose leader combines what they
 * publish in their slots; blocks form larger ones in the same way until at most eight leaders are
 * left. The root, whoever it is, combines what these have published; the others go on. Cost: for
 * each of about log8 p stages a line transfer and the lines of a block looked at. Memory: none
 * beyond the lanes. Preconditions: none; fastest where ranks side by side are near each other. The
 * order is that of ranks, with brackets around blocks; blocks follow from p alone. Source: ours.
 */
#include "coll/reduction/blocks.h"

#include "coll/bcast/message.h"

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    size_t piece = sb_slot_piece(reduction->operation);
    sb_status_t data = SB_OK;

    for (size_t offset = 0; offset < reduction->bytes; offset += piece) {
        size_t bytes = sb_min(piece, reduction->bytes - offset);
        uint64_t use = team->slot_uses;
        sb_climb_t climb;
        sb_blocks_begin(team, use, 1);
        sb_status_t status = sb_blocks_climb(team, reduction, use, offset, bytes, &climb, &data);
        if (status == SB_OK && team->rank == reduction->root) {
            status =
                sb_blocks_meet(team, reduction, use, reduction->receive + offset, bytes, &data);
            sb_slots_passed(team, use);
        }
        if (status != SB_OK)
            return status;
        sb_slot_finish(team, 1);
    }
    return data;
}

const sb_algorithm_t sb_reduce_blocks = {
    .name = "blocks",
    .collective = SB_REDUCE,
    .doc = "Blocks of eight ranks combine what they publish in slots, leaders go on with partial "
           "results; the root combines those of the last eight.",
    .source = "Sobor; see docs/reductions.md",
    .ring_above = SIZE_MAX,
    .cost = sb_blocks_cost,
    .reduction = run,
    .brackets = true,
};
