/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan and Exscan over blocks: eight ranks side by side form a block, whose leader combines what
 * they publish in their slots; blocks form larger ones in the same way until at most eight leaders
 * are left. These combine what those before them have; then each leader publishes, for each block
 * that it leads, the combination of all up to its own part of the block, and every member adds the
 * parts between. Pieces of one slot, or of 2 KiB, follow each other. Cost: for each of about log8 p
 * stages a line transfer up and one down, and the lines of a block looked at; at most eight sources
 * combined at a time. Memory: as the allreduce by the k-ary tree; private memory of a piece for
 * each level. Preconditions: none; fastest where ranks side by side are near each other. The order
 * is that of ranks, with brackets around blocks; blocks follow from p alone. Source: ours; the way
 * up is that of the allreduce by the k-ary tree.
 */
#include "coll/reduction/k_ary_tree.h"

#include "coll/bcast/message.h"

/* What a rank keeps of a piece to itself: what is before it, and its part of each block it leads.
 */
#define KEPT (SB_BLOCK_LEVELS + 1)

_Static_assert(KEPT <= SB_WORKSPACE_SCRATCH, "there is room for all levels");

/* One piece, at this rank. */
typedef struct climber {
    sb_team_t *team;
    const sb_reduction_t *reduction;
    uint64_t use;
    size_t bytes;
    uint32_t levels; /* of blocks */
    uint32_t led;    /* levels of which this rank leads a block: the lowest */
    uint32_t unit;   /* the step between members of the first level that it does not lead */
    uint32_t leader; /* of its block there */
    bool first;      /* nobody is before the blocks that it leads */
    sb_status_t data;
    const void *own[KEPT]; /* its part of its block of each level */
    char *kept;            /* what is before it, and what is its own of all levels but the lowest */
    size_t stride;         /* from one to the next */
} climber_t;

static uint32_t count_levels(uint32_t ranks)
{
    uint32_t levels = 0, top = sb_block_top(ranks);

    for (uint32_t unit = 1; unit < top; unit *= sb_block_fan(ranks, unit))
        levels++;
    return levels;
}

static void begin_fold(const climber_t *climber, sb_fold_t *fold, void *to)
{
    sb_fold_begin(fold, climber->reduction->operation, to, climber->bytes);
}

static void end_fold(climber_t *climber, sb_fold_t *fold)
{
    climber->data = sb_first(climber->data, sb_fold_end(fold));
}

/* Combines the blocks that this rank leads, and publishes what it has for its own leader. */
static sb_status_t climb(climber_t *climber)
{
    sb_team_t *team = climber->team;
    uint32_t size = team->size, unit = 1;

    for (climber->led = 0; climber->led < climber->levels; climber->led++) {
        uint32_t fan = sb_block_fan(size, unit), place = team->rank % (unit * fan);
        climber->leader = team->rank - place;
        if (place != 0)
            break;
        char *to = climber->kept + (climber->led + 1) * climber->stride;
        sb_fold_t fold;
        begin_fold(climber, &fold, to);
        sb_fold_add(&fold, climber->own[climber->led]);
        uint32_t end = (uint32_t)sb_min(size, (size_t)team->rank + (size_t)unit * fan);
        const sb_block_ranks_t others = {team->rank + unit, end, unit};
        sb_status_t status =
            sb_blocks_add(team, climber->reduction, climber->use, others, 0, &fold);
        if (status != SB_OK)
            return status;
        end_fold(climber, &fold);
        climber->own[climber->led + 1] = to;
        unit *= fan;
    }
    climber->unit = unit;
    sb_copy(sb_blocks_data(team, climber->reduction, team->rank, climber->use),
            climber->own[climber->led], climber->bytes);
    sb_flag_publish(&sb_slot(team, team->rank, climber->use)->flag, climber->use + 1);
    return SB_OK;
}

/* Brings the combination of all ranks before this one, from its leader and those between. */
static sb_status_t bring(climber_t *climber)
{
    sb_team_t *team = climber->team;
    uint32_t from = 0;
    sb_fold_t fold;

    begin_fold(climber, &fold, climber->kept);
    if (climber->led < climber->levels) {
        uint64_t use = climber->use + 1 + climber->led;
        const sb_block_ranks_t leader = {climber->leader, climber->leader + 1, 1};
        sb_status_t status = sb_blocks_add(team, climber->reduction, use, leader, 0, &fold);
        if (status != SB_OK)
            return status;
        from = climber->leader + climber->unit;
    }
    const sb_block_ranks_t between = {from, team->rank, climber->unit};
    sb_status_t status = sb_blocks_add(team, climber->reduction, climber->use, between, 0, &fold);
    climber->first = fold.count == 0;
    if (status == SB_OK && !climber->first)
        end_fold(climber, &fold);
    return status;
}

/* Combines to `to` what is before with this rank's part of its block of the level. */
static void join(climber_t *climber, void *to, uint32_t level)
{
    sb_fold_t fold;

    begin_fold(climber, &fold, to);
    if (!climber->first)
        sb_fold_add(&fold, climber->kept);
    sb_fold_add(&fold, climber->own[level]);
    end_fold(climber, &fold);
}

static void hand_down(climber_t *climber)
{
    sb_team_t *team = climber->team;

    for (uint32_t level = climber->led; level-- > 0;) {
        uint64_t use = climber->use + 1 + level;
        join(climber, sb_blocks_data(team, climber->reduction, team->rank, use), level);
        sb_flag_publish(&sb_slot(team, team->rank, use)->flag, use + 1);
    }
}

static sb_status_t run_piece(climber_t *climber, size_t offset, bool inclusive)
{
    sb_team_t *team = climber->team;
    const sb_reduction_t *reduction = climber->reduction;

    climber->use = team->slot_uses;
    climber->own[0] = reduction->send + offset;
    climber->bytes = sb_min(sb_blocks_piece(team, reduction), reduction->bytes - offset);
    sb_status_t status = sb_blocks_begin(team, climber->use, 1 + climber->levels);
    if (status == SB_OK)
        status = climb(climber);
    if (status == SB_OK)
        status = bring(climber);
    if (status != SB_OK)
        return status;
    hand_down(climber);
    if (inclusive)
        join(climber, reduction->receive + offset, 0);
    else if (!climber->first)
        sb_copy(reduction->receive + offset, climber->kept, climber->bytes);
    sb_slot_finish(team, 1 + climber->levels);
    return SB_OK;
}

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction, bool inclusive)
{
    bool large = sb_blocks_large(team, reduction->bytes);
    size_t piece = sb_blocks_piece(team, reduction);
    char kept[KEPT * SB_SLOT_PAYLOAD];
    climber_t climber = {.team = team,
                         .reduction = reduction,
                         .levels = count_levels(team->size),
                         .kept = large ? sb_workspace(team)->scratch : kept,
                         .stride = large ? SB_WORKSPACE_PIECE : SB_SLOT_PAYLOAD};

    for (size_t offset = 0; offset < reduction->bytes; offset += piece) {
        sb_status_t status = run_piece(&climber, offset, inclusive);
        if (status != SB_OK)
            return status;
    }
    return climber.data;
}

static sb_status_t scan(sb_team_t *team, const sb_reduction_t *reduction)
{
    return run(team, reduction, true);
}

static sb_status_t exscan(sb_team_t *team, const sb_reduction_t *reduction)
{
    return run(team, reduction, false);
}

/* A scan of one block takes so many times as long as combining up in one, which prices were fitted
 * to: its ranks do not all combine the same. */
#define ONE_BLOCK 1.1

/*
 * Down again it is a line for each stage, and half as many bytes: those of the ranks between. From
 * the last stage nothing goes down.
 */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double last = sb_cost_calm(shape) ? sb_blocks_last_cost(shape, bytes) : 0;
    double once = shape->ranks <= SB_BLOCK_MOST ? ONE_BLOCK : 1;

    return price->block_down * sb_blocks_cost(shape, bytes, 2 * SB_BLOCKS_UP / price->block_down) -
           (price->block_down - once) * last;
}

#define K_ARY_TREE(of, function)                                                                   \
    {                                                                                              \
        .name = "k-ary-tree", .former = "blocks", .collective = of,                                \
        .doc = "Blocks of eight ranks combine what they publish in slots, leaders go on with "     \
               "partial results; what is before each block goes down again.",                      \
        .source = "Sobor; see docs/reductions.md", .prepare = sb_blocks_prepare,                   \
        .prepare_above = SB_SLOT_PAYLOAD, .cost = cost, .reduction = function, .brackets = true,   \
    }

const sb_algorithm_t sb_scan_k_ary_tree = K_ARY_TREE(SB_SCAN, scan);
const sb_algorithm_t sb_exscan_k_ary_tree = K_ARY_TREE(SB_EXSCAN, exscan);
