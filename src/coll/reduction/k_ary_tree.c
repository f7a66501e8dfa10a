/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions over blocks of ranks: eight ranks side by side form a block, whose leader combines
 * what they publish in their slots; blocks form larger ones in the same way until at most eight
 * leaders are left. Of an allreduce these read each other's partial results and combine them all,
 * and each leader publishes the result for all that it leads; the root of a reduce, whoever it is,
 * combines what they have published, and the others go on; of a reduce_scatter only what is wanted
 * below a leader goes down again, and who wants nothing of a piece goes on once its contribution is
 * published. A message of more than one slot goes in pieces of 2 KiB, some of them at once. Cost:
 * for each of about log8 p stages a line transfer up, one down, and the lines of a block looked at;
 * at most eight sources combined at a time. Memory: none beyond the control blocks for what fits a
 * slot, else 16 pieces in the workspace. Preconditions: none; fastest where ranks side by side are
 * near each other. The order is that of ranks, with brackets around blocks; blocks follow from p
 * alone. Source: ours; the way of arrivals is that of the exchange barrier.
 */
#include "coll/reduction/k_ary_tree.h"

#include "coll/bcast/message.h"

#include <string.h>

static sb_status_t wait_published(sb_team_t *team, uint32_t rank, uint64_t use)
{
    return sb_flag_wait(&sb_slot(team, rank, use)->flag, use + 1, &team->waiter);
}

/* Keeps the uses of the last pieces, some way apart from each other but for the last. */
static void keep_mark(sb_team_t *team, uint64_t use)
{
    uint64_t *mark = team->slots_met;

    if (mark[SB_SLOTS_MET - 1] >= mark[SB_SLOTS_MET - 2] + SB_SLOTS / SB_SLOTS_MET)
        memmove(mark, mark + 1, (SB_SLOTS_MET - 1) * sizeof *mark);
    mark[SB_SLOTS_MET - 1] = use + 1;
}

/* Whether all ranks have come to the piece of this use. */
static bool have_met(const sb_team_t *team, uint64_t use)
{
    uint32_t top = sb_block_top(team->size);

    for (uint32_t rank = 0; rank < team->size; rank += top) {
        if (sb_flag_read(&sb_slot(team, rank, use)->flag) < use + 1)
            return false;
    }
    return true;
}

static sb_status_t wait_met(sb_team_t *team, uint64_t use)
{
    uint32_t top = sb_block_top(team->size);
    sb_status_t status = SB_OK;

    for (uint32_t rank = 0; rank < team->size && status == SB_OK; rank += top)
        status = wait_published(team, rank, use);
    return status;
}

/*
 * The last piece tells most. If some are still on their way to it, the earliest that tells enough
 * has to do.
 */
sb_status_t sb_blocks_begin(sb_team_t *team, uint64_t use, uint64_t uses)
{
    const uint64_t *mark = team->slots_met;
    uint64_t end = use + uses, last = mark[SB_SLOTS_MET - 1], earliest = last;
    sb_status_t status = SB_OK;

    if (end > team->slots_free_below + SB_SLOTS && last + SB_SLOTS > end) {
        for (int i = SB_SLOTS_MET - 1; i >= 0 && mark[i] + SB_SLOTS > end; i--)
            earliest = mark[i];
        bool met = have_met(team, last - 1);
        status = met ? SB_OK : wait_met(team, earliest - 1);
        if (status == SB_OK)
            sb_slots_passed(team, (met ? last : earliest) - 1);
    }
    keep_mark(team, use);
    /* Of the workspace's pieces there are no more, however many slots there are. */
    return status == SB_OK ? sb_slots_wait_round(team, end - 1, SB_SLOTS) : status;
}

sb_status_t sb_blocks_add(sb_team_t *team, const sb_reduction_t *reduction, uint64_t use,
                          sb_block_ranks_t ranks, size_t skip, sb_fold_t *fold)
{
    for (uint32_t rank = ranks.first; rank < ranks.end; rank += ranks.step) {
        sb_status_t status = wait_published(team, rank, use);
        if (status != SB_OK)
            return status;
        sb_fold_add(fold, sb_blocks_data(team, reduction, rank, use) + skip);
    }
    return SB_OK;
}

/* How this rank takes part in a call. */
typedef struct part {
    sb_team_t *team;
    const sb_reduction_t *reduction;
    sb_range_t own;   /* what it wants */
    sb_range_t below; /* what it and the ranks that it leads want */
    uint32_t end;     /* of the ranks that it leads, which are those from itself on */
    uint32_t leader;  /* of the block that it does not lead, if it is not of the last leaders */
    bool meets;       /* combines what the last leaders have, */
    bool in_turn;     /* and each of those waits for another one first */
    bool hands_down;
    sb_status_t data;
} part_t;

/* Combines a piece over the blocks that this rank leads, and publishes what it has. */
static sb_status_t climb(part_t *part, uint64_t use, sb_range_t piece)
{
    sb_team_t *team = part->team;
    const sb_reduction_t *reduction = part->reduction;
    const char *mine = reduction->send + piece.from;
    char *shown = sb_blocks_data(team, reduction, team->rank, use);
    uint32_t unit = 1;

    for (uint32_t end = team->rank + 1; end < part->end;) {
        uint32_t fan = sb_block_fan(team->size, unit);
        sb_fold_t fold;
        sb_fold_begin(&fold, reduction->operation, shown, sb_range_bytes(piece));
        end = (uint32_t)sb_min(part->end, (size_t)team->rank + (size_t)unit * fan);
        sb_fold_add(&fold, mine);
        sb_status_t status = sb_blocks_add(
            team, reduction, use, (sb_block_ranks_t){team->rank + unit, end, unit}, 0, &fold);
        if (status != SB_OK)
            return status;
        part->data = sb_first(part->data, sb_fold_end(&fold));
        mine = shown;
        unit *= fan;
    }
    if (mine != shown)
        sb_copy_shared(shown, mine, sb_range_bytes(piece));
    sb_flag_publish(&sb_slot(team, team->rank, use)->flag, use + 1);
    return SB_OK;
}

/*
 * As sb_blocks_add, of the last leaders, but waits for the one behind this rank first: else all of
 * them stand in line for the flag of the first, and then for that of the next.
 */
static sb_status_t add_in_turn(const part_t *part, uint64_t use, size_t skip, sb_fold_t *fold)
{
    sb_team_t *team = part->team;
    uint32_t top = sb_block_top(team->size), count = (team->size + top - 1) / top;
    uint32_t next = team->rank / top + 1;

    for (uint32_t i = 0; i < count; i++) {
        sb_status_t status = wait_published(team, (next + i) % count * top, use);
        if (status != SB_OK)
            return status;
    }
    for (uint32_t i = 0; i < count; i++)
        sb_fold_add(fold, sb_blocks_data(team, part->reduction, i * top, use) + skip);
    return SB_OK;
}

/* Combines what the last leaders have published of a piece, but for its first `skip` bytes. */
static sb_status_t meet(part_t *part, uint64_t use, size_t skip, char *to, size_t bytes)
{
    sb_team_t *team = part->team;
    const sb_block_ranks_t last = {0, team->size, sb_block_top(team->size)};
    sb_fold_t fold;

    sb_fold_begin(&fold, part->reduction->operation, to, bytes);
    sb_status_t status = part->in_turn
                             ? add_in_turn(part, use, skip, &fold)
                             : sb_blocks_add(team, part->reduction, use, last, skip, &fold);
    if (status == SB_OK)
        part->data = sb_first(part->data, sb_fold_end(&fold));
    return status;
}

/* Combines, or brings down from the leader, what of a piece is wanted. */
static sb_status_t fetch(part_t *part, uint64_t up, uint64_t down, size_t skip, char *to,
                         size_t bytes)
{
    sb_team_t *team = part->team;

    if (part->meets)
        return meet(part, up, skip, to, bytes);
    sb_status_t status = wait_published(team, part->leader, down);
    if (status == SB_OK)
        sb_copy(to, sb_blocks_data(team, part->reduction, part->leader, down) + skip, bytes);
    return status;
}

/* Brings what is wanted of a piece to this rank, and on to those that it leads. */
static sb_status_t bring(part_t *part, uint64_t up, uint64_t down, sb_range_t piece)
{
    sb_team_t *team = part->team;
    sb_range_t own = sb_overlap(part->own, piece), below = sb_overlap(part->below, piece);
    char *to = NULL;

    if (sb_range_bytes(below) == 0)
        return SB_OK;
    if (sb_range_bytes(own) > 0)
        to = part->reduction->receive + (own.from - part->own.from);
    if (!part->hands_down)
        return fetch(part, up, down, below.from - piece.from, to, sb_range_bytes(below));
    char *shown =
        sb_blocks_data(team, part->reduction, team->rank, down) + (below.from - piece.from);
    sb_status_t status =
        fetch(part, up, down, below.from - piece.from, shown, sb_range_bytes(below));
    if (status != SB_OK)
        return status;
    sb_flag_publish(&sb_slot(team, team->rank, down)->flag, down + 1);
    if (to != NULL)
        sb_copy(to, shown + (own.from - below.from), sb_range_bytes(own));
    return SB_OK;
}

static sb_range_t piece_at(const part_t *part, uint64_t number)
{
    const sb_reduction_t *reduction = part->reduction;
    size_t piece = sb_blocks_piece(part->team, reduction), from = (size_t)number * piece;

    return (sb_range_t){from, sb_min(from + piece, reduction->bytes)};
}

/* Some pieces one after the other: up, and down if there is a way down. */
static sb_status_t run_batch(part_t *part, uint64_t first, uint64_t count, uint64_t uses)
{
    sb_team_t *team = part->team;
    uint64_t use = team->slot_uses;
    sb_status_t status = sb_blocks_begin(team, use, uses);

    for (uint64_t i = 0; i < count && status == SB_OK; i++)
        status = climb(part, use + i, piece_at(part, first + i));
    for (uint64_t i = 0; i < count && status == SB_OK; i++) {
        sb_range_t piece = piece_at(part, first + i);
        status = bring(part, use + i, use + count + i, piece);
        /* What came has something of every rank, which was done with what was before the batch. */
        if (status == SB_OK && sb_range_bytes(sb_overlap(part->below, piece)) > 0)
            sb_slots_passed(team, use);
    }
    if (status == SB_OK)
        sb_slot_finish(team, uses);
    return status;
}

/* Where this rank stands in the blocks. */
static void find_place(part_t *part)
{
    const sb_team_t *team = part->team;
    uint32_t top = sb_block_top(team->size), unit = 1;

    part->meets = true;
    while (unit < top && part->meets) {
        uint32_t next = unit * sb_block_fan(team->size, unit);
        part->meets = team->rank % next == 0;
        part->leader = team->rank - team->rank % next;
        unit = part->meets ? next : unit;
    }
    part->end = (uint32_t)sb_min((size_t)team->rank + unit, team->size);
    part->hands_down = part->end > team->rank + 1;
}

/* Who gets the combination: each rank its part of it, in the last case. */
typedef enum taker { TAKER_ALL, TAKER_ROOT, TAKER_EACH } taker_t;

static sb_status_t reduce(sb_team_t *team, const sb_reduction_t *reduction, taker_t taker)
{
    part_t part = {.team = team, .reduction = reduction, .own = {0, reduction->bytes}};
    size_t piece = sb_blocks_piece(team, reduction);
    uint64_t count = sb_divide_up(reduction->bytes, piece);
    uint64_t ways = taker == TAKER_ROOT ? 1 : 2, batch = SB_SLOTS / 2 / ways;

    find_place(&part);
    if (taker == TAKER_EACH)
        part.own = sb_parts_of(reduction, team->size, team->rank, team->rank + 1);
    part.below = part.own;
    if (taker == TAKER_EACH)
        part.below = sb_parts_of(reduction, team->size, team->rank, part.end);
    /* Where all want the same lines, or those of the flags, it is better that who comes late finds
     * them near. */
    part.in_turn = taker == TAKER_EACH && reduction->bytes > SB_SLOT_PAYLOAD;
    if (taker == TAKER_ROOT) {
        part.meets = team->rank == reduction->root;
        part.hands_down = false;
        part.below.to = part.meets ? reduction->bytes : 0;
    }
    for (uint64_t first = 0; first < count; first += batch) {
        uint64_t some = sb_min(batch, count - first);
        sb_status_t status = run_batch(&part, first, some, ways * some);
        if (status != SB_OK)
            return status;
    }
    return part.data;
}

sb_status_t sb_blocks_prepare(sb_team_t *team)
{
    /* Without memory of their own, pieces are short. */
    sb_status_t status = sb_workspace_prepare(team);

    return status == SB_ERR_UNSUPPORTED ? SB_OK : status;
}

/* A byte of a source: of one package, ranks with a processor each share what they have read. */
static double byte_price(const sb_shape_t *shape)
{
    bool near = sb_cost_calm(shape) && !shape->apart;

    return (near ? shape->prices->block_calm : 1) * shape->prices->block_byte;
}

/* The news of a stage: a line, and those of the others looked at. Blocks that do not fit into the
 * machine's groups have some of their lines from far. */
static double news_of(const sb_shape_t *shape, size_t bytes, uint32_t unit)
{
    const sb_prices_t *price = shape->prices;
    bool calm = sb_cost_calm(shape);
    double more = calm ? price->block_line_calm : price->block_line;
    double lines = bytes > SB_SLOT_PAYLOAD ? price->block_lines : (double)(bytes + 16) / SB_LINE;
    bool spread = calm && shape->stages > 1 && shape->fan[0] % SB_BLOCK_MOST != 0;

    double far = spread && unit == 1 ? price->block_spread * (1 + (lines > 5 ? lines : 0)) : 0;

    return price->line + price->block_stage + far +
           sb_block_fan(shape->ranks, unit) * (price->next_line + more * lines);
}

static double data_of(const sb_shape_t *shape, size_t bytes, uint32_t unit)
{
    double fan = sb_block_fan(shape->ranks, unit);

    return bytes > SB_SLOT_PAYLOAD ? byte_price(shape) * fan * (double)bytes : 0;
}

double sb_blocks_cost(const sb_shape_t *shape, size_t bytes, double ways)
{
    double batches = 1 + (double)(bytes / (SB_WORKSPACE_PIECE * SB_SLOTS / 4));
    double time = 0, stages = 1;
    uint32_t top = sb_block_top(shape->ranks);

    for (uint32_t unit = 1; unit <= top; stages++) {
        /* Leaders that meet have no way down. */
        bool once = sb_cost_calm(shape) && unit == top;
        time += (once ? 1 : ways) * news_of(shape, bytes, unit) + data_of(shape, bytes, unit);
        unit *= unit == top ? 2 : sb_block_fan(shape->ranks, unit);
    }
    return time * sb_cost_crowd(shape) + ways * batches * sb_fold_turns(shape, stages);
}

double sb_blocks_last_cost(const sb_shape_t *shape, size_t bytes)
{
    uint32_t top = sb_block_top(shape->ranks);

    return news_of(shape, bytes, top) + data_of(shape, bytes, top);
}

static double cost_of_up(const sb_shape_t *shape, size_t bytes)
{
    return sb_blocks_cost(shape, bytes, SB_BLOCKS_UP);
}

static double cost_of_both(const sb_shape_t *shape, size_t bytes)
{
    return sb_blocks_cost(shape, bytes, SB_BLOCKS_DOWN);
}

/* Of what the last leaders combine each wants but a part, while all pieces are under way at once.
 */
static double cost_of_parts(const sb_shape_t *shape, size_t bytes)
{
    uint32_t last = sb_block_fan(shape->ranks, sb_block_top(shape->ranks));
    double saved = byte_price(shape) * (last - 1) * (double)bytes;
    bool at_once = bytes > SB_SLOT_PAYLOAD && bytes <= SB_WORKSPACE_PIECE * SB_SLOTS / 4;

    return cost_of_both(shape, bytes) - (sb_cost_calm(shape) && at_once ? saved : 0);
}

#define K_ARY_TREE(algorithm, of, taker, costs, what)                                              \
    SB_REDUCES(algorithm, reduce(team, reduction, taker), .name = "k-ary-tree",                    \
               .former = "blocks", .collective = of,                                               \
               .doc = "Blocks of eight ranks combine what they publish in slots, leaders go on "   \
                      "with partial results; " what,                                               \
               .source = "Sobor; see docs/reductions.md", .prepare = sb_blocks_prepare,            \
               .prepare_above = SB_SLOT_PAYLOAD, .cost = costs, .brackets = true)

#define PART "what is wanted below the last eight goes down again."

K_ARY_TREE(sb_allreduce_k_ary_tree, SB_ALLREDUCE, TAKER_ALL, cost_of_both,
           "the last eight read each other's, and results go down again.");
K_ARY_TREE(sb_reduce_k_ary_tree, SB_REDUCE, TAKER_ROOT, cost_of_up,
           "the root combines those of the last eight.");
K_ARY_TREE(sb_reduce_scatter_k_ary_tree, SB_REDUCE_SCATTER, TAKER_EACH, cost_of_parts, PART);
K_ARY_TREE(sb_reduce_scatter_block_k_ary_tree, SB_REDUCE_SCATTER_BLOCK, TAKER_EACH, cost_of_parts,
           PART);
