/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/vector/relays.h"

#include "team/copy_policy.h"

#define CHUNK_LEAST ((size_t)256)

static uint32_t relayed_by(uint32_t ranks, uint32_t group)
{
    return (ranks - group + group - 1) / group;
}

/*
 * Far chunks that a member of any group may have to bring near at once. Groups of one rank bring
 * nothing near; nor does a rank without a group.
 */
static uint32_t most_relayed(const sb_groups_t *groups, uint32_t ranks)
{
    uint32_t most = 0;

    for (size_t i = 0; groups->count > 0 && i < groups->stage[0].count; i++) {
        uint32_t relayed = relayed_by(ranks, (uint32_t)sb_stage_size(&groups->stage[0], i));
        most = relayed > most ? relayed : most;
    }
    return most;
}

/* Bytes of a block with chunks of `chunk` bytes. */
static size_t block_bytes(uint32_t relayed, size_t chunk)
{
    size_t chunks = SB_RELAY_SLOTS * ((size_t)relayed + 1);

    return sizeof(sb_wide_flag_t) + chunks * (sizeof(sb_chunk_t) + chunk);
}

/* Divides the ranks into this rank's group, which may be itself alone, and all others. */
static void divide(sb_relays_t *relays, const sb_groups_t *groups, const sb_team_t *team)
{
    uint32_t *near = (uint32_t *)(void *)(relays->peer + team->size), *far = near + team->size;
    const sb_stage_t *stage = &groups->stage[0];
    int own = groups->count > 0 ? sb_stage_group_of(stage, team->rank) : -1;

    for (uint32_t rank = 0; rank < team->size; rank++) {
        bool together = rank == team->rank || (own >= 0 && sb_stage_group_of(stage, rank) == own);
        if (rank == team->rank)
            relays->self = relays->group_size;
        if (together)
            near[relays->group_size++] = rank;
        else
            far[relays->far_count++] = rank;
    }
    relays->near = near;
    relays->far = far;
}

static void adopt(sb_team_t *team, uint32_t relayed)
{
    sb_relays_t *relays = sb_relays(team);
    size_t chunks = SB_RELAY_SLOTS * ((size_t)relayed + 1);
    size_t room = relays->resource.bytes - block_bytes(relayed, 0);

    relays->relayed = relayed;
    relays->chunk = sb_min(room / chunks, SB_RELAY_CHUNK_MOST) & ~(size_t)(SB_LINE - 1);
    for (uint32_t i = 0; i < team->size; i++)
        relays->peer[i].base = relays->resource.bases[i];
    relays->done = (sb_flag_t *)(void *)relays->peer[team->rank].base;
    relays->credit =
        (sb_flow_out_t){.readers = {.blocks = (void *const *)(void *)relays->resource.bases,
                                    .count = team->size,
                                    .self = team->rank},
                        .room = SB_RELAY_SLOTS};
    relays->cached_most = sb_copy_cached_most(team);
}

static sb_status_t make_for(sb_team_t *team, const sb_groups_t *groups, bool willing)
{
    uint32_t relayed = most_relayed(groups, team->size);
    size_t most = (size_t)team->settings.ring_bytes / (SB_RELAY_SLOTS * ((size_t)relayed + 1));
    size_t chunk = sb_max(sb_min(most, SB_RELAY_CHUNK_MOST), CHUNK_LEAST);
    const sb_resource_size_t size = {
        .own = sizeof(sb_relays_t) + team->size * (sizeof(sb_relay_peer_t) + 2 * sizeof(uint32_t)),
        .bytes = sb_round_up(block_bytes(relayed, chunk), SB_PAGE),
        .least = sb_round_up(block_bytes(relayed, CHUNK_LEAST), SB_PAGE),
        .willing = willing,
    };
    sb_status_t status = sb_resource_make(team, SB_RESOURCE_RELAYS, &size);

    if (status != SB_OK)
        return status;
    divide(sb_relays(team), groups, team);
    adopt(team, relayed);
    return SB_OK;
}

static sb_status_t make(sb_team_t *team)
{
    sb_groups_t groups = {0};
    sb_status_t grouped =
        sb_team_groups(&groups, team, SB_SUBGROUP_LEVELS, team->settings.barrier_arity);
    sb_status_t status = make_for(team, &groups, grouped != SB_ERR_MEMORY);

    sb_groups_free(&groups);
    return status;
}

static const sb_resource_kind_t kind = {SB_RESOURCE_RELAYS, make};

sb_status_t sb_relays_prepare(sb_team_t *team)
{
    return sb_resource_need(team, &kind);
}
