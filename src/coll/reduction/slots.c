/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions through slots: every rank publishes its contribution beside a flag in its own control
 * block, in pieces of at most one slot, and each combines what it wants of it, from left to right
 * in rank order: of an allreduce everything, of a reduce the root alone, of a reduce_scatter its
 * part, of a scan what the ranks up to itself or before itself have given. Who wants nothing goes
 * on, and none waits for a rank that it wants nothing of but for a free slot. Cost: one line
 * transfer after the last arrival, more by a few for a longer piece; up to p lines read and p
 * sources combined by each rank, so it does not scale to many cores. A rank that shares its
 * processor has to run once. Memory: none beyond the control blocks. Preconditions: none. Source:
 * all flags, see the flat barrier, with the immediate data of XHC (Katevenis, Ploumidis, Marazakis,
 * 2022).
 */
#include "coll/bcast/message.h"
#include "coll/reduction/reduction.h"

/*
 * Pieces that are published before the first of them is combined. Who sees the pieces of one batch
 * knows that their writers are done with the batch before, so nobody waits for a free slot where
 * all combine all.
 */
#define BATCH (SB_SLOTS / 2)

/* Bytes of the largest piece: whole elements in one slot. */
static inline size_t slot_piece(const sb_operator_t *operation)
{
    return SB_SLOT_PAYLOAD / operation->element * operation->element;
}

/* Publishes `bytes` in this rank's slot of the use, once it is free. */
static sb_status_t publish(sb_team_t *team, uint64_t use, const void *from, size_t bytes)
{
    sb_slot_t *slot = sb_slot(team, team->rank, use);
    sb_status_t status = sb_slot_wait_free(team, use);

    if (status != SB_OK)
        return status;
    sb_copy(slot->payload, from, bytes);
    sb_flag_publish(&slot->flag, use + 1);
    return SB_OK;
}

static sb_status_t wait_for(const sb_team_t *team, uint64_t use, uint32_t sources)
{
    const sb_peers_t flags = {(void *const *)(void *)team->controls,
                              offsetof(sb_control_t, slot) +
                                  (use & (team->slots - 1)) * sizeof(sb_slot_t) +
                                  offsetof(sb_slot_t, flag),
                              sources, team->rank};

    return sb_sources_wait(team, &flags, use + 1);
}

/* Combines what of the piece at `offset` is wanted. */
static sb_status_t combine(sb_team_t *team, const sb_reduction_t *reduction, uint64_t use,
                           size_t offset, size_t bytes, sb_wanted_t wanted)
{
    size_t from = sb_max(offset, wanted.from), to = sb_min(offset + bytes, wanted.to);

    if (from >= to)
        return SB_OK;
    char *result = reduction->receive + (from - wanted.from);
    if (wanted.sources == 1) {
        sb_copy(result, sb_slot(team, 0, use)->payload + (from - offset), to - from);
        return SB_OK;
    }
    sb_fold_t fold;
    sb_fold_begin(&fold, reduction->operation, result, to - from);
    for (uint32_t rank = 0; rank < wanted.sources; rank++)
        sb_fold_add(&fold, sb_slot(team, rank, use)->payload + (from - offset));
    return sb_fold_end(&fold);
}

/* Few ranks' lines are worth the instructions, and of few pieces: of a message that is little
 * longer than a slot those of the last one too, for which all would wait once more. */
#define FETCHED_MOST 4
#define FETCHED_PIECES 2

/* The lines of a slot that hold this piece of a message. */
static size_t slot_bytes(size_t bytes, uint64_t piece)
{
    return offsetof(sb_slot_t, payload) + sb_min(bytes - piece * SB_SLOT_PAYLOAD, SB_SLOT_PAYLOAD);
}

/*
 * Who combines is often behind those who only publish: the next slots may be filled already, and
 * their lines come while this rank leaves and comes again. If they are not filled, this rank still
 * has those lines of the last round, and nothing is asked of anybody.
 */
static void fetch_next(const sb_team_t *team, uint32_t sources, uint64_t pieces, size_t bytes)
{
    for (uint32_t rank = 0; rank < sources; rank++) {
        if (rank == team->rank)
            continue;
        for (uint64_t i = 0; i < sb_min(pieces, FETCHED_PIECES); i++)
            sb_fetch_ahead(sb_slot(team, rank, team->slot_uses + i), slot_bytes(bytes, i));
    }
}

/*
 * Who only publishes is often ahead, and what it writes waits in its processor for the lines, one
 * after the other: so it takes those of the call after the next one in time. At the next one's the
 * others may be looking by now.
 */
static void prefetch_later(const sb_team_t *team, uint64_t pieces, size_t bytes)
{
    uint64_t use = team->slot_uses + pieces;

    for (uint64_t i = 0; i < sb_min(pieces, FETCHED_PIECES); i++) {
        if (sb_slot_is_free(team, use + i))
            sb_fetch_to_write(sb_slot(team, team->rank, use + i), slot_bytes(bytes, i));
    }
}

/* Where many read a slot some are behind, and lines that are taken from them come twice. */
static void look_ahead(const sb_team_t *team, uint32_t sources, uint64_t pieces, size_t bytes)
{
    bool few = team->size <= FETCHED_MOST;

    if (few && sources <= (team->rank == 0))
        prefetch_later(team, pieces, bytes);
    else if (few || (sources <= FETCHED_MOST && bytes <= SB_SLOT_IN_LINE))
        fetch_next(team, sources, pieces, bytes);
}

static sb_status_t reduce(sb_team_t *team, const sb_reduction_t *reduction, sb_wanted_t wanted)
{
    /* What is smaller fits one slot without a division, whatever the element. */
    bool small = reduction->bytes <= SB_SLOT_PAYLOAD - SB_ELEMENT_MOST;
    size_t piece = small ? reduction->bytes : slot_piece(reduction->operation);
    uint64_t count = small ? reduction->bytes > 0 : sb_divide_up(reduction->bytes, piece);
    sb_status_t data = SB_OK;

    for (uint64_t first = 0; first < count; first += BATCH) {
        uint64_t batch = sb_min(BATCH, count - first), use = team->slot_uses;
        for (uint64_t i = 0; i < batch; i++) {
            size_t offset = (size_t)(first + i) * piece;
            sb_status_t status = publish(team, use + i, reduction->send + offset,
                                         sb_min(piece, reduction->bytes - offset));
            if (status != SB_OK)
                return status;
        }
        for (uint64_t i = 0; i < batch && wanted.sources > 0; i++) {
            size_t offset = (size_t)(first + i) * piece, bytes = reduction->bytes - offset;
            sb_status_t status = wait_for(team, use + i, wanted.sources);
            if (status != SB_OK)
                return status;
            data = sb_first(
                data, combine(team, reduction, use + i, offset, sb_min(piece, bytes), wanted));
        }
        if (wanted.sources == team->size)
            sb_slots_passed(team, use);
        sb_slot_finish(team, batch);
    }
    look_ahead(team, wanted.sources, count, reduction->bytes);
    return data;
}

/* Pieces after the first. */
static double pieces_of(size_t bytes)
{
    return (double)(bytes / (SB_SLOT_PAYLOAD + 1));
}

/*
 * Every rank reads the lines of all others at once, as in the flat barrier; a piece more is a few
 * lines more of each, which are fought for where ranks are many.
 */
static double cost_of(const sb_shape_t *shape, size_t bytes, double sources)
{
    const sb_prices_t *price = shape->prices;
    double pieces = pieces_of(bytes);
    double others = sb_max(shape->ranks, 2) - 2;
    double time = price->line + sources * price->fold;

    /* Ranks that share a cache share what it has read; else all want all lines at once. */
    if (shape->oversubscribed)
        time += price->own_line * others;
    else
        time += price->next_line * others + price->moving_line * others * others;
    if (bytes > SB_SLOT_IN_LINE)
        time += (shape->apart ? price->fold_beyond_apart : price->fold_beyond) * sources;
    time += pieces * sources * (price->fold_piece + shape->ranks);
    return time * sb_cost_crowd(shape) + sb_fold_turns(shape, 1 + pieces / SB_SLOTS);
}

/*
 * Ranks that wait for nobody may be so many calls ahead of the others, but no more: where they
 * share processors, a row of such calls has this to pay, as if it were one more turn for each.
 */
static double row_cost(const sb_shape_t *shape)
{
    return sb_fold_turns(shape, 1);
}

static double cost_of_all(const sb_shape_t *shape, size_t bytes)
{
    return cost_of(shape, bytes, shape->ranks);
}

/*
 * Of these, those that the root waits for, each by itself. Of two ranks a second one comes with the
 * first; and of sizes that are planned together few have the last piece of the largest.
 */
static double awaited_by_root(const sb_shape_t *shape, size_t bytes)
{
    size_t pieces = bytes / SB_SLOT_BYTES;

    if (shape->ranks > 2)
        return pieces_of(bytes);
    return (double)(pieces - sb_min(pieces, FETCHED_PIECES - 1));
}

/* One rank reads the lines of all; the others wait for it once in so many slots. */
static double cost_of_root(const sb_shape_t *shape, size_t bytes)
{
    const sb_prices_t *price = shape->prices;
    double pieces = pieces_of(bytes), awaited = awaited_by_root(shape, bytes);
    double beyond = bytes > SB_SLOT_IN_LINE ? price->next_line : 0;

    double copied = price->block_calm * price->block_byte * (double)SB_SLOT_PAYLOAD;
    double piece = sb_cost_calm(shape) ? price->own_line + copied : price->line;

    return price->line + shape->ranks * (price->next_line + price->fold + beyond) +
           awaited * shape->ranks * piece + sb_fold_turns(shape, 1 + pieces / SB_SLOTS) +
           row_cost(shape);
}

/* In the mean a rank reads half of the lines. */
static double cost_of_scan(const sb_shape_t *shape, size_t bytes)
{
    return cost_of_all(shape, bytes) / 2 + row_cost(shape);
}

#define SLOTS(algorithm, of, wants, costs, what)                                                   \
    SB_REDUCES(                                                                                    \
        algorithm, reduce(team, reduction, wants(team, reduction)), .name = "slots",               \
        .collective = of,                                                                          \
        .doc = "Every rank publishes its vector beside its flag, in pieces of 240 bytes; " what,   \
        .source = "all flags; immediate data of XHC (Katevenis et al. 2022)", .cost = costs)

#define PART "each combines its part in rank order."
#define BEFORE "each combines those of the ranks before it."

SLOTS(sb_allreduce_slots, SB_ALLREDUCE, sb_wanted_by_all, cost_of_all,
      "each combines all in rank order.");
SLOTS(sb_reduce_slots, SB_REDUCE, sb_wanted_by_root, cost_of_root,
      "the root combines them in rank order.");
SLOTS(sb_reduce_scatter_slots, SB_REDUCE_SCATTER, sb_wanted_part, cost_of_all, PART);
SLOTS(sb_reduce_scatter_block_slots, SB_REDUCE_SCATTER_BLOCK, sb_wanted_part, cost_of_all, PART);
SLOTS(sb_scan_slots, SB_SCAN, sb_wanted_scan, cost_of_scan, BEFORE);
SLOTS(sb_exscan_slots, SB_EXSCAN, sb_wanted_exscan, cost_of_scan, BEFORE);
