/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/lazy_segment.h"

#include "team/team.h"

#include <stdlib.h>

/* What one rank has got. */
typedef struct offer {
    sb_remote_key_t key;
    uint64_t offset;
    uint64_t bytes; /* 0: nothing */
} offer_t;

_Static_assert(sizeof(offer_t) <= SB_EXCHANGE_BYTES, "an offer fits an exchange");

/* Lists of private memory; a rank that cannot have them offers nothing, so that all refuse. */
static bool make_lists(sb_lazy_segment_t *segment, uint32_t size)
{
    segment->bases = calloc(size, sizeof *segment->bases);
    segment->attachments = calloc(size, sizeof *segment->attachments);
    return segment->bases != NULL && segment->attachments != NULL;
}

static void take_block(const sb_team_t *team, sb_lazy_segment_t *segment, sb_arena_source_t source,
                       const sb_wish_t *wish, offer_t *offer)
{
    sb_reason_t reason;
    size_t bytes = wish->bytes;

    while (sb_arena_take_near(&segment->block, bytes, wish->near, source, team->size, &reason) !=
           SB_OK) {
        if (bytes <= wish->least)
            return;
        bytes = sb_max(bytes / 2 & ~(size_t)(SB_PAGE - 1), wish->least);
    }
    segment->touched = sb_min(segment->block.touched, bytes);
    *offer = (offer_t){segment->block.region->key, segment->block.offset, bytes};
}

/* The least of what the ranks offer. */
static sb_status_t hear_offers(sb_team_t *team, size_t *least)
{
    sb_status_t status = SB_OK;
    offer_t offer;

    *least = SIZE_MAX;
    for (uint32_t i = 0; i < team->size && status == SB_OK; i++) {
        status = sb_team_hear(team, i, &offer, sizeof offer);
        *least = status == SB_OK ? sb_min(*least, (size_t)offer.bytes) : 0;
    }
    return status;
}

/* The offers are heard once more: nobody tells anything else before all have agreed. */
static bool attach_blocks(sb_team_t *team, sb_lazy_segment_t *segment)
{
    sb_reason_t reason;
    offer_t offer;

    for (uint32_t i = 0; i < team->size; i++) {
        if (i == team->rank) {
            segment->bases[i] = segment->block.address;
            continue;
        }
        if (sb_team_hear(team, i, &offer, sizeof offer) != SB_OK ||
            sb_arena_attach(&segment->attachments[i], &offer.key, &reason) != SB_OK)
            return false;
        segment->bases[i] = sb_attachment_base(segment->attachments[i]) + offer.offset;
    }
    return true;
}

void sb_lazy_segment_reach(sb_lazy_segment_t *segment, size_t end)
{
    if (end <= segment->touched)
        return;
    end = sb_min(sb_max(end, 2 * segment->touched), segment->bytes);
    sb_arena_touch(&segment->block, segment->touched, end);
    segment->touched = end;
}

void sb_lazy_segment_leave(sb_lazy_segment_t *segment, uint32_t size)
{
    for (uint32_t i = 0; segment->attachments != NULL && i < size; i++) {
        if (segment->attachments[i] != NULL)
            sb_arena_detach(segment->attachments[i]);
    }
    free(segment->attachments);
    free(segment->bases);
    segment->attachments = NULL;
    segment->bases = NULL;
}

/* Of one try, the same for all members. */
typedef enum outcome { MADE, EXHAUSTED, NOT_FOUND } outcome_t;

/* One try. Unless it is MADE, nothing remains of it. */
static sb_status_t try_to_make(sb_team_t *team, sb_lazy_segment_t *segment,
                               sb_arena_source_t source, const sb_wish_t *wish, outcome_t *outcome)
{
    offer_t mine = {0};
    bool everybody = false;

    if (wish->willing && make_lists(segment, team->size))
        take_block(team, segment, source, wish, &mine);
    sb_team_tell(team, &mine, sizeof mine);
    sb_status_t status = hear_offers(team, &segment->bytes);
    *outcome = segment->bytes > 0 ? NOT_FOUND : EXHAUSTED;
    if (*outcome == NOT_FOUND)
        status = sb_team_agree(team, attach_blocks(team, segment), &everybody);
    sb_arena_settle(&segment->block);
    if (status == SB_OK && everybody) {
        *outcome = MADE;
        return SB_OK;
    }
    /* Whoever attached to this block has not used it, and never will. */
    sb_lazy_segment_leave(segment, team->size);
    sb_arena_give(&segment->block);
    *segment = (sb_lazy_segment_t){0};
    return status;
}

sb_status_t sb_lazy_segment_make(sb_team_t *team, sb_lazy_segment_t *segment, const sb_wish_t *wish)
{
    outcome_t outcome;
    sb_status_t status = try_to_make(team, segment, SB_ARENA_ANY, wish, &outcome);

    /* Memory that cannot be handed over through /proc may still be found by a name. */
    if (status == SB_OK && outcome == NOT_FOUND)
        status = try_to_make(team, segment, SB_ARENA_FRESH_NAMED, wish, &outcome);
    return status == SB_OK && outcome != MADE ? SB_ERR_UNSUPPORTED : status;
}
