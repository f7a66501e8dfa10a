/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/reduction/blocks.h"

#include "coll/bcast/message.h"

static bool have_met(const sb_team_t *team, uint64_t use)
{
    uint32_t top = sb_block_top(team->size);

    for (uint32_t rank = 0; rank < team->size; rank += top) {
        if (sb_flag_read(&sb_slot(team, rank, use)->flag) < use + 1)
            return false;
    }
    return true;
}

void sb_blocks_begin(sb_team_t *team, uint64_t use, uint64_t uses)
{
    uint64_t last = team->blocks_use;

    team->blocks_use = use + 1;
    if (use + uses <= team->slots_free_below + SB_SLOTS || last == 0)
        return;
    if (have_met(team, last - 1))
        sb_slots_passed(team, last - 1);
}

static sb_status_t wait_published(sb_team_t *team, uint32_t rank, uint64_t use)
{
    return sb_flag_wait(&sb_slot(team, rank, use)->flag, use + 1, &team->waiter);
}

/* Combines `first` with what the other members of the block of this leader have published. */
static sb_status_t lead(sb_team_t *team, uint32_t unit, uint32_t fan, uint64_t use,
                        const void *first, sb_fold_t *fold)
{
    uint32_t end = (uint32_t)sb_min(team->size, (size_t)team->rank + (size_t)unit * fan);

    sb_fold_add(fold, first);
    for (uint32_t rank = team->rank + unit; rank < end; rank += unit) {
        sb_status_t status = wait_published(team, rank, use);
        if (status != SB_OK)
            return status;
        sb_fold_add(fold, sb_slot(team, rank, use)->payload);
    }
    return SB_OK;
}

sb_status_t sb_blocks_climb(sb_team_t *team, const sb_reduction_t *reduction, uint64_t use,
                            size_t offset, size_t bytes, sb_climb_t *climb, sb_status_t *data)
{
    char partial[SB_SLOT_PAYLOAD];
    const void *mine = reduction->send + offset;
    uint32_t top = sb_block_top(team->size), unit = 1;

    *climb = (sb_climb_t){.meets = true};
    while (unit < top && climb->meets) {
        uint32_t fan = sb_block_fan(team->size, unit);
        uint32_t place = team->rank % (unit * fan);
        climb->meets = place == 0;
        climb->leader = team->rank - place;
        if (climb->meets) {
            sb_fold_t fold;
            sb_fold_begin(&fold, reduction->operation, partial, bytes);
            sb_status_t status = lead(team, unit, fan, use, mine, &fold);
            if (status != SB_OK)
                return status;
            *data = sb_first(*data, sb_fold_end(&fold));
            mine = partial;
            climb->leads = true;
        }
        unit *= fan;
    }
    return sb_slot_publish(team, use, mine, bytes);
}

sb_status_t sb_blocks_meet(sb_team_t *team, const sb_reduction_t *reduction, uint64_t use, void *to,
                           size_t bytes, sb_status_t *data)
{
    uint32_t top = sb_block_top(team->size);
    sb_fold_t fold;

    sb_fold_begin(&fold, reduction->operation, to, bytes);
    for (uint32_t rank = 0; rank < team->size; rank += top) {
        sb_status_t status = wait_published(team, rank, use);
        if (status != SB_OK)
            return status;
        sb_fold_add(&fold, sb_slot(team, rank, use)->payload);
    }
    *data = sb_first(*data, sb_fold_end(&fold));
    return SB_OK;
}

double sb_blocks_cost(const sb_shape_t *shape, size_t bytes)
{
    double pieces = (double)(bytes / (SB_SLOT_PAYLOAD + 1) + 1);
    double lines = (double)(sb_min(bytes, SB_SLOT_PAYLOAD) + 16) / SB_LINE;
    double time = 0, stages = 1;

    for (uint32_t unit = 1; unit <= sb_block_top(shape->ranks); stages++) {
        uint32_t fan = sb_block_fan(shape->ranks, unit);
        time += SB_COST_LINE + SB_COST_NEXT_LINE * fan * (1 + 0.5 * lines);
        unit *= unit == sb_block_top(shape->ranks) ? 2 : fan;
    }
    return pieces *
           (time * sb_max(1, shape->ranks / shape->processors) + sb_fold_turns(shape, stages));
}
