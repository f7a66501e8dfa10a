/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter in which each part is combined by the rank that gets it: every rank copies into
 * its block what the others get of its contribution, part after part, each from a line on; after a
 * barrier each combines its part out of the blocks of all, from left to right in rank order. What
 * the room does not hold goes in windows that have a piece of every part, so that all ranks have as
 * much to do in each. Cost: a barrier for each window; each rank copies every byte in, and combines
 * as many. Memory: half of the workspace's buffers for a window, in turn: who writes one again has
 * gone through a barrier since it was last read. Preconditions: the workspace. Source: ours;
 * rings.c without a flag for each window and without waiting for room, for messages that come one
 * after the other.
 */
#include "coll/reduction/workspace.h"

typedef struct dealt {
    sb_team_t *team;
    const sb_reduction_t *reduction;
    sb_range_t part; /* this rank's, of the message */
    size_t windows;
    uint64_t turn; /* with which the present window begins */
    bool in_place;
    char *result; /* of this rank's part */
    sb_status_t data;
} dealt_t;

static size_t part_bytes(const dealt_t *dealt, uint32_t rank)
{
    const sb_reduction_t *reduction = dealt->reduction;

    return reduction->parts == NULL ? reduction->bytes / dealt->team->size : reduction->parts[rank];
}

/* What a window has of a part of so many bytes. */
static sb_range_t piece_of(const dealt_t *dealt, size_t bytes, size_t window)
{
    size_t element = dealt->reduction->operation->element, elements = bytes / element;

    return (sb_range_t){elements * window / dealt->windows * element,
                        elements * (window + 1) / dealt->windows * element};
}

/* A window is a run of so many turns' buffers: half of them, so that one is read while the other is
 * written. */
static uint32_t turns_of_window(const sb_workspace_t *space)
{
    return space->depth / 2;
}

/* The first turn from this one on with which a run begins: they lie side by side from the first
 * buffer on, so that two that follow each other never meet. */
static uint64_t run_from(const sb_workspace_t *space, uint64_t turn)
{
    uint64_t run = turns_of_window(space), place = turn % space->depth;
    uint64_t next = (place + run - 1) / run * run;

    return turn - place + (next + run <= space->depth ? next : space->depth);
}

static char *room_of(const dealt_t *dealt, uint32_t rank)
{
    return sb_workspace_buffer(dealt->team, rank, dealt->turn, SB_WINDOW_IN);
}

/* As few windows as there is room for: a piece may be an element longer than its share, and begins
 * on a line. */
static size_t windows_for(const sb_team_t *team, const sb_reduction_t *reduction)
{
    const sb_workspace_t *space = sb_workspace(team);
    size_t room = turns_of_window(space) * (SB_WINDOW_RELAY + 1) * space->buffer;
    size_t lost = team->size * (reduction->operation->element + SB_LINE);

    return sb_max(1, (reduction->bytes + room - lost - 1) / (room - lost));
}

/* Bytes that are copied, or read and combined, between two looks at what else goes on. */
#define GO_ON_BYTES ((size_t)32 << 10)

/* Bytes that are copied in one go, as far as they lie side by side here and there. */
typedef struct stretch {
    char *to;
    const char *from;
    size_t bytes;
} stretch_t;

static void copy_stretch(const dealt_t *dealt, const stretch_t *stretch)
{
    for (size_t at = 0; at < stretch->bytes; at += GO_ON_BYTES) {
        sb_copy_shared(stretch->to + at, stretch->from + at,
                       sb_min(GO_ON_BYTES, stretch->bytes - at));
        sb_team_go_on(dealt->team);
    }
}

static void add_piece(const dealt_t *dealt, stretch_t *stretch, stretch_t piece)
{
    if (stretch->to + stretch->bytes == piece.to && stretch->from + stretch->bytes == piece.from) {
        stretch->bytes += piece.bytes;
        return;
    }
    copy_stretch(dealt, stretch);
    *stretch = piece;
}

/* What this rank alone gets stays where it is, unless the result comes there. */
static void copy_in(const dealt_t *dealt, size_t window)
{
    const sb_team_t *team = dealt->team;
    const char *from = dealt->reduction->send;
    char *to = room_of(dealt, team->rank);
    stretch_t stretch = {.to = to, .from = from};

    for (uint32_t rank = 0; rank < team->size; rank++) {
        size_t bytes = part_bytes(dealt, rank);
        sb_range_t piece = piece_of(dealt, bytes, window);
        if (rank != team->rank || dealt->in_place)
            add_piece(dealt, &stretch, (stretch_t){to, from + piece.from, sb_range_bytes(piece)});
        to += sb_round_up(sb_range_bytes(piece), SB_LINE);
        from += bytes;
    }
    add_piece(dealt, &stretch, (stretch_t){0});
}

/* Where this rank's piece of a window begins, in the blocks of all. */
static size_t own_place(const dealt_t *dealt, size_t window)
{
    size_t place = 0;

    for (uint32_t rank = 0; rank < dealt->team->rank; rank++)
        place +=
            sb_round_up(sb_range_bytes(piece_of(dealt, part_bytes(dealt, rank), window)), SB_LINE);
    return place;
}

/* This rank's range of a piece that begins at `place` in the blocks of all. */
static void combine_range(dealt_t *dealt, sb_range_t piece, size_t place, sb_range_t range)
{
    const sb_team_t *team = dealt->team;
    size_t from = piece.from + range.from;
    sb_fold_t fold;

    sb_fold_begin(&fold, dealt->reduction->operation, dealt->result + from, sb_range_bytes(range));
    for (uint32_t rank = 0; rank < team->size; rank++) {
        bool own = rank == team->rank && !dealt->in_place;
        sb_fold_add(&fold, own ? dealt->reduction->send + dealt->part.from + from
                               : room_of(dealt, rank) + place + range.from);
    }
    dealt->data = sb_first(dealt->data, sb_fold_end(&fold));
    sb_team_go_on(team);
}

static void combine(dealt_t *dealt, size_t window)
{
    sb_range_t piece = piece_of(dealt, sb_range_bytes(dealt->part), window);
    size_t place = own_place(dealt, window), bytes = sb_range_bytes(piece);
    size_t element = dealt->reduction->operation->element;
    size_t most = sb_max(1, GO_ON_BYTES / dealt->team->size / element) * element;

    for (size_t at = 0; at < bytes; at += most)
        combine_range(dealt, piece, place, (sb_range_t){at, sb_min(at + most, bytes)});
}

static sb_status_t go(dealt_t *dealt)
{
    sb_workspace_t *space = sb_workspace(dealt->team);
    sb_status_t status = SB_OK;

    for (size_t window = 0; window < dealt->windows && status == SB_OK; window++) {
        dealt->turn = run_from(space, space->turns);
        copy_in(dealt, window);
        status = sb_workspace_meet(dealt->team);
        if (status == SB_OK)
            combine(dealt, window);
        space->turns = dealt->turn + turns_of_window(space);
    }
    return status;
}

/* In place the result is made where the part came from, which nobody needs any more; it belongs
 * where the contribution begins. */
static void move_down(const dealt_t *dealt)
{
    const char *from = dealt->result;
    char *to = dealt->reduction->receive;
    size_t bytes = sb_range_bytes(dealt->part), most = dealt->part.from;

    for (size_t at = 0; at < bytes && most > 0; at += most)
        sb_copy(to + at, from + at, sb_min(most, bytes - at));
}

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction)
{
    dealt_t dealt = {.team = team,
                     .reduction = reduction,
                     .part = sb_parts_of(team, reduction, team->rank, team->rank + 1),
                     .windows = windows_for(team, reduction),
                     .in_place = reduction->send == reduction->receive,
                     .result = reduction->receive};

    if (reduction->bytes == 0)
        return SB_OK;
    if (dealt.in_place)
        dealt.result = reduction->receive + dealt.part.from;
    sb_status_t status = go(&dealt);
    if (status == SB_OK && dealt.in_place)
        move_down(&dealt);
    return sb_first(status, dealt.data);
}

static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double copied = 2 * price->byte * (double)bytes * sb_cost_crowd(shape);

    return sb_workspace_steps_cost(shape, 1) + shape->ranks * price->next_line + copied;
}

#define DEALT(of)                                                                                  \
    {                                                                                              \
        .name = "dealt", .collective = of,                                                         \
        .doc = "Every rank copies in what the others get; after a barrier each combines its part " \
               "out of what all have copied, in rank order.",                                      \
        .source = "Sobor; what each rank of a node does before an Allreduce goes between nodes",   \
        .on_request = true, .prepare = sb_workspace_prepare, .cost = cost, .reduction = run,       \
    }

const sb_algorithm_t sb_reduce_scatter_dealt = DEALT(SB_REDUCE_SCATTER);
const sb_algorithm_t sb_reduce_scatter_block_dealt = DEALT(SB_REDUCE_SCATTER_BLOCK);
