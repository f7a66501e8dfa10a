/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce over blocks: eight ranks side by side form a block, whose leader combines what they
 * publish in their slots; blocks form larger ones in the same way until at most eight leaders are
 * left, who read each other's partial results and combine them all. Results go down again: each
 * leader publishes the result in a slot for all that it leads. Pieces of at most one slot follow
 * each other. Cost: for each of about log8 p stages a line transfer up and one down and the lines
 * of a block looked at; at most eight sources combined at a time. Memory: none beyond the lanes.
 * Preconditions: none; fastest where ranks side by side are near each other. The order is that of
 * ranks, with brackets around blocks; blocks follow from p alone. Source: ours; the way of arrivals
 * is that of the exchange barrier.
 */
#include "coll/reduction/blocks.h"

#include "coll/bcast/message.h"

/* Brings the result of the piece to this rank, and on to those that it leads. */
static sb_status_t bring(sb_team_t *team, const sb_reduction_t *reduction, size_t offset,
                         size_t bytes, const sb_climb_t *climb, sb_status_t *data)
{
    uint64_t use = team->slot_uses;
    sb_slot_t *down = sb_slot(team, team->rank, use + 1);
    sb_slot_t *above = sb_slot(team, climb->leader, use + 1);
    char *to = reduction->receive + offset;
    sb_status_t status = climb->meets ? SB_OK : sb_flag_wait(&above->flag, use + 2, &team->waiter);

    if (status == SB_OK && climb->leads)
        status = sb_slot_wait_free(team, use + 1);
    if (status != SB_OK)
        return status;
    void *target = climb->leads ? (void *)down->payload : to;
    if (climb->meets)
        status = sb_blocks_meet(team, reduction, use, target, bytes, data);
    else
        sb_copy(target, above->payload, bytes);
    if (status != SB_OK || !climb->leads)
        return status;
    sb_flag_publish(&down->flag, use + 2);
    sb_copy(to, down->payload, bytes);
    return SB_OK;
}

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    size_t piece = sb_slot_piece(reduction->operation);
    sb_status_t data = SB_OK;

    for (size_t offset = 0; offset < reduction->bytes; offset += piece) {
        size_t bytes = sb_min(piece, reduction->bytes - offset);
        uint64_t use = team->slot_uses;
        sb_climb_t climb;
        sb_blocks_begin(team, use, 2);
        sb_status_t status = sb_blocks_climb(team, reduction, use, offset, bytes, &climb, &data);
        if (status == SB_OK)
            status = bring(team, reduction, offset, bytes, &climb, &data);
        if (status != SB_OK)
            return status;
        /* The result has something of every rank, which was done with what came before. */
        sb_slots_passed(team, use);
        sb_slot_finish(team, 2);
    }
    return data;
}

/* Down again it is a line for each stage, which a block reads at once. */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    return 1.6 * sb_blocks_cost(shape, bytes);
}

const sb_algorithm_t sb_allreduce_blocks = {
    .name = "blocks",
    .collective = SB_ALLREDUCE,
    .doc = "Blocks of eight ranks combine what they publish in slots, leaders go on with partial "
           "results; the last eight read each other's, and results go down again.",
    .source = "Sobor; see docs/reductions.md",
    .ring_above = SIZE_MAX,
    .cost = cost,
    .reduction = run,
    .brackets = true,
};
