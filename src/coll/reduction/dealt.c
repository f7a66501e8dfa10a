/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter in which each part is combined by the rank that gets it: every rank copies into
 * its block what the others combine of its contribution, part after part, each from a line on;
 * after a barrier each combines its part out of the blocks of all, from left to right in rank
 * order. By groups of ranks side by side, each group combines first: the ranks of a group share the
 * parts out among them, each combines its share of the group's contributions in its own block, and
 * after another barrier whoever gets a part combines what the groups have of it. What the room does
 * not hold goes in windows that have a piece of every part, so that all ranks have as much to do in
 * each. Cost: each rank copies every byte in, and combines as many, with a barrier; by groups of
 * about the root of the number of ranks most of that passes between ranks side by side, of which
 * caches are near, from fewer places, with two barriers. Memory: half of the workspace's buffers
 * for a window, in turn: who writes one again has gone through a barrier since it was last read.
 * Groups follow from the number of ranks alone, and so do the bits. Preconditions: the workspace.
 * Source: ours; rings.c without a flag for each window and without waiting for room, for messages
 * that come one after the other. Groups: the direct algorithm in two dimensions, as in Barnett et
 * al., "Global combine on mesh architectures with wormhole routing", 1993.
 */
#include "coll/reduction/slices.h"
#include "coll/reduction/workspace.h"

typedef struct dealt {
    sb_team_t *team;
    const sb_reduction_t *reduction;
    uint32_t group;  /* ranks of one; the last may have fewer */
    sb_range_t part; /* this rank's, of the message */
    size_t windows;
    uint64_t turn;   /* with which the present window begins */
    bool copies_own; /* the result comes where the contribution is read */
    char *result;    /* of this rank's part */
    sb_status_t data;
} dealt_t;

static size_t part_bytes(const dealt_t *dealt, uint32_t rank)
{
    return sb_part_bytes(dealt->reduction, dealt->team->size, rank);
}

/* Whose part has so many others before it. */
static uint32_t part_at(const dealt_t *dealt, uint32_t place)
{
    uint32_t part = dealt->reduction->first + place, size = dealt->team->size;

    return part < size ? part : part - size;
}

static sb_range_t own_part(const dealt_t *dealt)
{
    uint32_t rank = dealt->team->rank;
    size_t from = 0;

    for (uint32_t i = 0; part_at(dealt, i) != rank; i++)
        from += part_bytes(dealt, part_at(dealt, i));
    return (sb_range_t){from, from + part_bytes(dealt, rank)};
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
    uint64_t next = sb_divide_up(place, run) * run;

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

    return sb_max(1, sb_divide_up(reduction->bytes, room - lost));
}

/* --- groups: of ranks side by side ---------------------------------------------------------- */

static bool is_grouped(const dealt_t *dealt)
{
    return dealt->group < dealt->team->size;
}

static uint32_t members(const dealt_t *dealt, uint32_t first)
{
    return sb_min(dealt->group, dealt->team->size - first);
}

/* Who combines a part within the group that begins with `first`. */
static uint32_t combiner(const dealt_t *dealt, uint32_t first, uint32_t part)
{
    return first + part % dealt->group % members(dealt, first);
}

static uint32_t own_group(const dealt_t *dealt)
{
    return dealt->team->rank / dealt->group * dealt->group;
}

/* Whether this rank combines a part within its group. */
static bool is_combined_here(const dealt_t *dealt, uint32_t part)
{
    return combiner(dealt, own_group(dealt), part) == dealt->team->rank;
}

/* --- what is done with a window ------------------------------------------------------------- */

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

/* What this rank itself combines stays where it is, unless the result comes there. */
static void copy_in(const dealt_t *dealt, size_t window)
{
    const sb_team_t *team = dealt->team;
    const char *from = dealt->reduction->send;
    char *to = room_of(dealt, team->rank);
    stretch_t stretch = {.to = to, .from = from};

    for (uint32_t i = 0; i < team->size; i++) {
        uint32_t part = part_at(dealt, i);
        size_t bytes = part_bytes(dealt, part);
        sb_range_t piece = piece_of(dealt, bytes, window);
        if (!is_combined_here(dealt, part) || dealt->copies_own)
            add_piece(dealt, &stretch, (stretch_t){to, from + piece.from, sb_range_bytes(piece)});
        to += sb_round_up(sb_range_bytes(piece), SB_LINE);
        from += bytes;
    }
    add_piece(dealt, &stretch, (stretch_t){0});
}

/* What is combined in one go: pieces of one part. */
typedef struct sources {
    uint32_t first, step, end; /* of these ranks, or of who combines the part in their groups; */
    const char *own;           /* this rank's is there, if not NULL; */
    size_t place;              /* else, as of the others, here in its block */
} sources_t;

static const char *source_of(const dealt_t *dealt, const sources_t *of, uint32_t rank)
{
    if (of->step > 1)
        rank = combiner(dealt, rank, dealt->team->rank);
    return rank == dealt->team->rank && of->own != NULL ? of->own
                                                        : room_of(dealt, rank) + of->place;
}

static void combine_range(dealt_t *dealt, const sources_t *of, char *to, sb_range_t range)
{
    sb_fold_t fold;

    sb_fold_begin(&fold, dealt->reduction->operation, to + range.from, sb_range_bytes(range));
    for (uint32_t rank = of->first; rank < of->end; rank += of->step)
        sb_fold_add(&fold, source_of(dealt, of, rank) + range.from);
    dealt->data = sb_first(dealt->data, sb_fold_end(&fold));
    sb_team_go_on(dealt->team);
}

static void combine(dealt_t *dealt, const sources_t *of, char *to, size_t bytes)
{
    size_t element = dealt->reduction->operation->element;
    uint32_t count = (of->end - of->first + of->step - 1) / of->step;
    size_t most = sb_max(1, GO_ON_BYTES / count / element) * element;

    for (size_t at = 0; at < bytes; at += most)
        combine_range(dealt, of, to, (sb_range_t){at, sb_min(at + most, bytes)});
}

/* This rank's part: of all ranks' contributions, or of what their groups have combined. */
static void combine_own(dealt_t *dealt, size_t place, sb_range_t piece)
{
    const char *own = dealt->reduction->send + dealt->part.from + piece.from;
    sources_t of = {.step = is_grouped(dealt) ? dealt->group : 1,
                    .end = dealt->team->size,
                    .own = is_grouped(dealt) || dealt->copies_own ? NULL : own,
                    .place = place};

    combine(dealt, &of, dealt->result + piece.from, sb_range_bytes(piece));
}

/* Within the group: into this rank's block, where its own contribution would be. */
static void combine_in_group(dealt_t *dealt, size_t place, const char *own, size_t bytes)
{
    uint32_t first = own_group(dealt);
    sources_t of = {first, 1, first + members(dealt, first), own, place};

    combine(dealt, &of, room_of(dealt, dealt->team->rank) + place, bytes);
}

/* `mine`: this rank's own part; else the parts that it combines within its group. */
static void combine_window(dealt_t *dealt, size_t window, bool mine)
{
    const char *from = dealt->reduction->send;
    size_t place = 0;

    for (uint32_t i = 0; i < dealt->team->size; i++) {
        uint32_t part = part_at(dealt, i);
        size_t bytes = part_bytes(dealt, part);
        sb_range_t piece = piece_of(dealt, bytes, window);
        if (mine && part == dealt->team->rank)
            combine_own(dealt, place, piece);
        else if (!mine && is_combined_here(dealt, part))
            combine_in_group(dealt, place, from + piece.from, sb_range_bytes(piece));
        place += sb_round_up(sb_range_bytes(piece), SB_LINE);
        from += bytes;
    }
}

static sb_status_t go(dealt_t *dealt)
{
    sb_workspace_t *space = sb_workspace(dealt->team);
    sb_status_t status = SB_OK;

    for (size_t window = 0; window < dealt->windows && status == SB_OK; window++) {
        dealt->turn = run_from(space, space->turns);
        copy_in(dealt, window);
        status = sb_workspace_meet(dealt->team);
        if (status == SB_OK && is_grouped(dealt)) {
            combine_window(dealt, window, false);
            status = sb_workspace_meet(dealt->team);
        }
        if (status == SB_OK)
            combine_window(dealt, window, true);
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

static sb_status_t run(sb_team_t *team, const sb_reduction_t *reduction, uint32_t group)
{
    bool in_place = reduction->send == reduction->receive;
    dealt_t dealt = {.team = team,
                     .reduction = reduction,
                     .group = group,
                     .windows = windows_for(team, reduction),
                     .copies_own = in_place && group >= team->size,
                     .result = reduction->receive};

    if (reduction->bytes == 0)
        return SB_OK;
    dealt.part = own_part(&dealt);
    if (in_place)
        dealt.result = reduction->receive + dealt.part.from;
    sb_status_t status = go(&dealt);
    if (status == SB_OK && in_place)
        move_down(&dealt);
    return sb_first(status, dealt.data);
}

static sb_status_t run_dealt(sb_team_t *team, const sb_reduction_t *reduction)
{
    return run(team, reduction, team->size);
}

/* About as many groups as ranks in each, and all alike if that is possible: where ranks fill the
 * machine's units, such groups rarely lie in two of them. Nobody reads of more than three times the
 * root of all. */
static uint32_t group_of(uint32_t ranks)
{
    uint32_t root = 1, group;

    while (root * root < ranks)
        root++;
    for (group = root; group < 2 * root && ranks % group != 0;)
        group++;
    return group < 2 * root ? group : root;
}

static sb_status_t run_grouped(sb_team_t *team, const sb_reduction_t *reduction)
{
    return run(team, reduction, group_of(team->size));
}

/*
 * As rings, but each rank has to run once, however long the message is: so it is taken where ranks
 * share processors. Nobody waits for room, nor for windows, but all for the last. What caches do
 * not keep beside its windows is dearer than the buffers of slices.
 */
static double cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double crowd = sb_cost_crowd(shape), all = (double)bytes * crowd;
    double lost = all > price->dealt_kept ? all - price->dealt_kept : 0;
    double lines = (2 * price->line + shape->ranks * price->next_line) * crowd;

    return sb_workspace_steps_cost(shape, 1) + lines +
           (price->byte + price->ring_shared / 2) * (all + 2 * lost);
}

/*
 * Every rank takes a line of each part from who combined there last. Groups that do not lie within
 * those of the machine read from farther away. That what the groups have goes between packages is
 * not felt: of each part that are as many lines as there are groups.
 */
static double grouped_cost(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double ranks = shape->ranks;
    uint32_t group = group_of(shape->ranks);
    double time = sb_workspace_steps_cost(shape, 2) + 2 * group * price->next_line;

    /* Not measured where ranks share processors: dearer than slices, so that it is not taken. */
    if (!sb_cost_calm(shape))
        return sb_slices_cost(shape, bytes, (double)bytes / ranks) + time;
    if (shape->stages > 1 && shape->fan[0] % group != 0)
        time += price->dealt_astride;
    return time + price->dealt_part * ranks + price->dealt_byte * (double)bytes;
}

#define DEALT(of)                                                                                  \
    {                                                                                              \
        .name = "dealt", .collective = of,                                                         \
        .doc = "Every rank copies in what the others get; after a barrier each combines its part " \
               "out of what all have copied, in rank order.",                                      \
        .source = "Sobor; what each rank of a node does before an Allreduce goes between nodes",   \
        .on_request = true, .crowded = true, .prepare = sb_buffers_prepare, .cost = cost,          \
        .reduction = run_dealt,                                                                    \
    }
#define DEALT_BY_GROUPS(of)                                                                        \
    {                                                                                              \
        .name = "dealt-by-groups", .collective = of,                                               \
        .doc = "As dealt, within groups of about the root of the number of ranks; after another "  \
               "barrier each rank combines its part out of what the groups have.",                 \
        .source = "Sobor; what each rank of a node does before an Allreduce goes between nodes",   \
        .prepare = sb_buffers_prepare, .cost = grouped_cost, .reduction = run_grouped,             \
        .brackets = true,                                                                          \
    }

const sb_algorithm_t sb_reduce_scatter_dealt = DEALT(SB_REDUCE_SCATTER);
const sb_algorithm_t sb_reduce_scatter_block_dealt = DEALT(SB_REDUCE_SCATTER_BLOCK);
const sb_algorithm_t sb_reduce_scatter_dealt_by_groups = DEALT_BY_GROUPS(SB_REDUCE_SCATTER);
const sb_algorithm_t sb_reduce_scatter_block_dealt_by_groups =
    DEALT_BY_GROUPS(SB_REDUCE_SCATTER_BLOCK);
