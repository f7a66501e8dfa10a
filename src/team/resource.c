/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/team.h"

#include "base/lines.h"

#include <stdlib.h>

/* What one rank has got. */
typedef struct offer {
    sb_remote_key_t key;
    uint64_t offset;
    uint64_t bytes; /* 0: nothing */
} offer_t;

_Static_assert(sizeof(offer_t) <= SB_EXCHANGE_BYTES, "an offer fits an exchange");

/* Lists of private memory; a rank that cannot have them offers nothing, so that all refuse. */
static bool make_lists(sb_resource_t *resource, uint32_t size)
{
    resource->bases = calloc(size, sizeof *resource->bases);
    resource->attachments = calloc(size, sizeof *resource->attachments);
    return resource->bases != NULL && resource->attachments != NULL;
}

static void take_block(const sb_team_t *team, sb_resource_t *resource, sb_arena_source_t source,
                       const sb_resource_size_t *size, offer_t *offer)
{
    sb_reason_t reason;
    size_t bytes = size->bytes, near = size->near == 0 ? bytes : size->near;

    while (sb_arena_take_near(&resource->block, bytes, near, source, team->size, &reason) !=
           SB_OK) {
        if (bytes <= size->least)
            return;
        bytes = sb_max(bytes / 2 & ~(size_t)(SB_PAGE - 1), size->least);
    }
    resource->touched = sb_min(resource->block.touched, bytes);
    *offer = (offer_t){resource->block.region->key, resource->block.offset, bytes};
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
static bool attach_blocks(sb_team_t *team, sb_resource_t *resource)
{
    sb_reason_t reason;
    offer_t offer;

    for (uint32_t i = 0; i < team->size; i++) {
        if (i == team->rank) {
            resource->bases[i] = resource->block.address;
            continue;
        }
        if (sb_team_hear(team, i, &offer, sizeof offer) != SB_OK ||
            sb_arena_attach(&resource->attachments[i], &offer.key, &reason) != SB_OK)
            return false;
        resource->bases[i] = sb_attachment_base(resource->attachments[i]) + offer.offset;
    }
    return true;
}

void sb_resource_touch(sb_resource_t *resource, size_t end)
{
    end = sb_min(sb_max(end, 2 * resource->touched), resource->bytes);
    sb_arena_touch(&resource->block, resource->touched, end);
    resource->touched = end;
}

void sb_resource_leave(sb_resource_t *resource, uint32_t size)
{
    for (uint32_t i = 0; resource->attachments != NULL && i < size; i++) {
        if (resource->attachments[i] != NULL)
            sb_arena_detach(resource->attachments[i]);
    }
    free(resource->attachments);
    free(resource->bases);
    resource->attachments = NULL;
    resource->bases = NULL;
}

/* Of one try, the same for all members. */
typedef enum outcome { MADE, EXHAUSTED, NOT_FOUND } outcome_t;

/* One try. Unless it is MADE, nothing remains of it. */
static sb_status_t try_to_share(sb_team_t *team, sb_resource_t *resource, sb_arena_source_t source,
                                const sb_resource_size_t *size, bool willing, outcome_t *outcome)
{
    offer_t mine = {0};
    bool everybody = false;

    if (willing && make_lists(resource, team->size))
        take_block(team, resource, source, size, &mine);
    sb_team_tell(team, &mine, sizeof mine);
    sb_status_t status = hear_offers(team, &resource->bytes);
    *outcome = resource->bytes > 0 ? NOT_FOUND : EXHAUSTED;
    if (*outcome == NOT_FOUND)
        status = sb_team_agree(team, attach_blocks(team, resource), &everybody);
    sb_arena_settle(&resource->block);
    if (status == SB_OK && everybody) {
        *outcome = MADE;
        return SB_OK;
    }
    sb_resource_leave(resource, team->size);
    /* Whoever attached to this block has not used it, and never will. But where a wait has failed
     * others may have heard that all have all, and use it: it stays taken until the process ends.
     */
    if (status == SB_OK)
        sb_arena_give(&resource->block);
    *resource = (sb_resource_t){0};
    return status;
}

/* Memory of all members, in agreement; what is not SB_OK leaves it all zero. */
static sb_status_t share_memory(sb_team_t *team, sb_resource_t *resource,
                                const sb_resource_size_t *size, bool willing)
{
    outcome_t outcome;
    sb_status_t status = try_to_share(team, resource, SB_ARENA_ANY, size, willing, &outcome);

    /* Memory that cannot be handed over through /proc may still be found by a name. */
    if (status == SB_OK && outcome == NOT_FOUND)
        status = try_to_share(team, resource, SB_ARENA_FRESH_NAMED, size, willing, &outcome);
    return status == SB_OK && outcome != MADE ? SB_ERR_UNSUPPORTED : status;
}

sb_status_t sb_resource_make(sb_team_t *team, uint32_t slot, const sb_resource_size_t *size)
{
    sb_resource_t shared = {0}, *made = sb_alloc_lines(size->own);
    sb_status_t status = share_memory(team, &shared, size, size->willing && made != NULL);

    if (status == SB_OK) {
        shared.own = size->own;
        *made = shared;
        team->resource[slot] = made;
        return SB_OK;
    }
    sb_free_lines(made, size->own);
    if (status == SB_ERR_UNSUPPORTED)
        team->refused |= 1u << slot;
    return status;
}

sb_status_t sb_resource_renew(sb_team_t *team, uint32_t slot, const sb_resource_size_t *size)
{
    sb_resource_t shared = {0}, *old = team->resource[slot];
    sb_status_t status = share_memory(team, &shared, size, size->willing);

    if (status != SB_OK)
        return status;
    sb_resource_leave(old, team->size);
    sb_arena_give(&old->block);
    shared.own = old->own;
    *old = shared;
    return SB_OK;
}

sb_status_t sb_resource_prepare(sb_team_t *team, const sb_resource_kind_t *kind)
{
    bool refused = (team->refused & 1u << kind->slot) != 0;

    return refused ? SB_ERR_UNSUPPORTED : kind->prepare(team);
}
