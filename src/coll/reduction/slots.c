/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/reduction/slots.h"

#include "coll/bcast/message.h"

/*
 * Pieces that are published before the first of them is combined. Who sees the pieces of one batch
 * knows that their writers are done with the batch before, so nobody waits for a free slot where
 * all combine all.
 */
#define BATCH (SB_SLOTS / 2)

sb_status_t sb_slot_publish(sb_team_t *team, uint64_t use, const void *from, size_t bytes)
{
    sb_slot_t *slot = sb_slot(team, team->rank, use);
    sb_status_t status = sb_slot_wait_free(team, use);

    if (status != SB_OK)
        return status;
    sb_copy(slot->payload, from, bytes);
    sb_flag_publish(&slot->flag, use + 1);
    return SB_OK;
}

/* How to wait where ranks share processors: by how many are missing. */
static const sb_waiter_t *waiter_for(const sb_team_t *team, uint64_t use, uint32_t sources)
{
    uint32_t missing = 0;

    if (!team->oversubscribed)
        return &team->waiter;
    for (uint32_t rank = 0; rank < sources; rank++)
        missing += sb_flag_read(&sb_slot(team, rank, use)->flag) < use + 1;
    return sb_team_waiter(team, missing);
}

/* Each begins with the next after itself, so that not all want the same line at once. */
static sb_status_t wait_for(sb_team_t *team, uint64_t use, uint32_t sources)
{
    const sb_waiter_t *waiter = waiter_for(team, use, sources);
    uint32_t first = team->rank + 1 < sources ? team->rank + 1 : 0;

    for (uint32_t step = 0; step < sources; step++) {
        uint32_t rank = first + step < sources ? first + step : first + step - sources;
        sb_status_t status = sb_flag_wait(&sb_slot(team, rank, use)->flag, use + 1, waiter);
        if (status != SB_OK)
            return status;
    }
    return SB_OK;
}

/* Combines what of the piece at `offset` is wanted. */
static sb_status_t combine(sb_team_t *team, const sb_reduction_t *reduction, uint64_t use,
                           size_t offset, size_t bytes, sb_wanted_t wanted)
{
    size_t from = sb_max(offset, wanted.from), to = sb_min(offset + bytes, wanted.to);

    if (from >= to)
        return SB_OK;
    sb_fold_t fold;
    sb_fold_begin(&fold, reduction->operation, reduction->receive + (from - wanted.from),
                  to - from);
    for (uint32_t rank = 0; rank < wanted.sources; rank++)
        sb_fold_add(&fold, sb_slot(team, rank, use)->payload + (from - offset));
    return sb_fold_end(&fold);
}

sb_status_t sb_slots_reduce(sb_team_t *team, const sb_reduction_t *reduction, sb_wanted_t wanted)
{
    /* What is smaller fits one slot without a division, whatever the element. */
    bool small = reduction->bytes <= SB_SLOT_PAYLOAD - SB_ELEMENT_MOST;
    size_t piece = small ? reduction->bytes : sb_slot_piece(reduction->operation);
    uint64_t count = small ? reduction->bytes > 0 : sb_slot_pieces(reduction);
    sb_status_t data = SB_OK;

    for (uint64_t first = 0; first < count; first += BATCH) {
        uint64_t batch = sb_min(BATCH, count - first), use = team->slot_uses;
        for (uint64_t i = 0; i < batch; i++) {
            size_t offset = (size_t)(first + i) * piece;
            sb_status_t status = sb_slot_publish(team, use + i, reduction->send + offset,
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
    return data;
}

/*
 * Every rank reads the lines of all others at once, as in the flat barrier; a piece more is a few
 * lines more of each, which are fought for where ranks are many.
 */
double sb_slots_cost(const sb_shape_t *shape, size_t bytes, double sources)
{
    const sb_prices_t *price = shape->prices;
    double pieces = (double)(bytes / (SB_SLOT_PAYLOAD + 1));
    double others = sb_max(shape->ranks, 2) - 2;
    double time = price->line + sources * price->fold;

    /* Ranks that share a cache share what it has read; else all want all lines at once. */
    if (shape->oversubscribed)
        time += price->own_line * others;
    else
        time += (shape->apart ? 0.2 : 0.5) * price->line * others +
                price->moving_line * others * others;
    if (bytes > SB_SLOT_IN_LINE)
        time += (shape->apart ? price->fold_beyond_apart : price->fold_beyond) * sources;
    time += pieces * sources * (price->fold_piece + shape->ranks);
    return time * sb_max(1, shape->ranks / shape->processors) +
           sb_fold_turns(shape, 1 + pieces / SB_SLOTS);
}
