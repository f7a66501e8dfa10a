/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/share.h"

#include "team/team.h"

#include <stdlib.h>

#define PAGE 4096

/* What one rank has got. */
typedef struct offer {
    sb_ticket_t ticket;
    uint64_t offset;
    uint64_t bytes; /* 0: nothing */
} offer_t;

_Static_assert(sizeof(offer_t) <= SB_EXCHANGE_BYTES, "an offer fits an exchange");

/* Lists of private memory; a rank that cannot have them offers nothing, so that all refuse. */
static bool make_lists(sb_share_t *share, uint32_t size)
{
    if (share->bases == NULL)
        share->bases = calloc(size, sizeof *share->bases);
    if (share->attachments == NULL)
        share->attachments = calloc(size, sizeof *share->attachments);
    return share->bases != NULL && share->attachments != NULL;
}

static void take_block(const sb_team_t *team, sb_share_t *share, sb_arena_source_t source,
                       size_t wish, size_t least, offer_t *offer)
{
    sb_reason_t reason;

    for (size_t bytes = wish;; bytes = sb_max(bytes / 2 & ~(size_t)(PAGE - 1), least)) {
        if (sb_arena_take(&share->block, bytes, source, team->size, &reason) == SB_OK) {
            *offer = (offer_t){share->block.region->ticket, share->block.offset, bytes};
            return;
        }
        if (bytes <= least)
            return;
    }
}

static size_t least_offer(const offer_t *offers, uint32_t size)
{
    size_t least = SIZE_MAX;

    for (uint32_t i = 0; i < size; i++)
        least = sb_min(least, (size_t)offers[i].bytes);
    return least;
}

static bool attach_blocks(const sb_team_t *team, sb_share_t *share, const offer_t *offers)
{
    sb_reason_t reason;

    for (uint32_t i = 0; i < team->size; i++) {
        if (i == team->rank) {
            share->bases[i] = share->block.address;
            continue;
        }
        if (sb_arena_attach(&share->attachments[i], &offers[i].ticket, &reason) != SB_OK)
            return false;
        share->bases[i] = sb_attachment_base(share->attachments[i]) + offers[i].offset;
    }
    return true;
}

static sb_status_t agree(sb_team_t *team, bool mine, bool *everybody)
{
    uint32_t word = mine, all[team->size];
    sb_status_t status = sb_team_exchange(team, &word, all, sizeof word);

    *everybody = true;
    for (uint32_t i = 0; status == SB_OK && i < team->size; i++)
        *everybody = *everybody && all[i] != 0;
    return status;
}

void sb_share_leave(sb_share_t *share, uint32_t size)
{
    for (uint32_t i = 0; share->attachments != NULL && i < size; i++) {
        if (share->attachments[i] != NULL)
            sb_arena_detach(share->attachments[i]);
    }
    free(share->attachments);
    free(share->bases);
    share->attachments = NULL;
    share->bases = NULL;
}

/*
 * One try. Sets the state to READY if all have everybody's block, to REFUSED if memory is used up;
 * otherwise, or on failure, nothing remains.
 */
static sb_status_t try_share(sb_team_t *team, sb_share_t *share, sb_arena_source_t source,
                             size_t wish, size_t least, bool willing)
{
    offer_t mine = {0}, all[team->size];
    bool everybody = false;

    if (willing && make_lists(share, team->size))
        take_block(team, share, source, wish, least, &mine);
    sb_status_t status = sb_team_exchange(team, &mine, all, sizeof mine);
    share->bytes = status == SB_OK ? least_offer(all, team->size) : 0;
    if (share->bytes > 0)
        status = agree(team, attach_blocks(team, share, all), &everybody);
    else if (status == SB_OK)
        share->state = SB_SHARE_REFUSED;
    sb_arena_unlink();
    if (status == SB_OK && everybody) {
        share->state = SB_SHARE_READY;
        return SB_OK;
    }
    /* Whoever attached to this block has not used it, and never will. */
    sb_share_leave(share, team->size);
    sb_arena_give(&share->block);
    return status;
}

sb_status_t sb_share_make(sb_team_t *team, sb_share_t *share, size_t wish, size_t least,
                          bool willing)
{
    sb_status_t status = SB_OK;

    if (share->state == SB_SHARE_NONE)
        status = try_share(team, share, SB_ARENA_ANY, wish, least, willing);
    /* Memory that cannot be handed over through /proc may still be found by a name. */
    if (status == SB_OK && share->state == SB_SHARE_NONE)
        status = try_share(team, share, SB_ARENA_FRESH_NAMED, wish, least, willing);
    if (status != SB_OK)
        return status;
    if (share->state == SB_SHARE_NONE)
        share->state = SB_SHARE_REFUSED;
    return share->state == SB_SHARE_READY ? SB_OK : SB_ERR_UNSUPPORTED;
}
