/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/hierarchy.h"

#include <stdlib.h>
#include <string.h>

/* Those of a group's members that came up from a group below. Returns how many. */
static uint32_t find_leaders(const sb_groups_t *groups, size_t stage, const sb_group_t *group,
                             uint32_t *room)
{
    uint32_t count = 0;

    for (uint32_t i = 1; i < group->size; i++) {
        bool leads = false;
        for (size_t below = 0; below < stage && !leads; below++)
            leads = sb_stage_group_of(&groups->stage[below], group->members[i]) >= 0;
        if (leads)
            room[count++] = group->members[i];
    }
    return count;
}

/*
 * Keeps of `groups` what this rank needs; the members are copied to `room`, and behind those of
 * each group its leaders.
 */
static void keep_own(sb_hierarchy_t *hierarchy, const sb_groups_t *groups, uint32_t rank,
                     uint32_t *room)
{
    for (size_t i = 0; i < groups->count; i++) {
        const sb_stage_t *stage = &groups->stage[i];
        int own = sb_stage_group_of(stage, rank);
        if (own < 0)
            continue;
        hierarchy->lowest = hierarchy->count == 0 ? (uint32_t)i : hierarchy->lowest;
        sb_group_t *group = &hierarchy->group[hierarchy->count++];
        *group = (sb_group_t){.size = (uint32_t)sb_stage_size(stage, (size_t)own), .members = room};
        memcpy(room, sb_stage_members(stage, (size_t)own), group->size * sizeof *room);
        group->leader = room + group->size;
        group->leaders = find_leaders(groups, i, group, room + group->size);
        room += group->size + group->leaders;
        hierarchy->led += group->members[0] == rank;
        hierarchy->meets = i + 1 == groups->count;
    }
}

static void keep_shape(sb_hierarchy_t *hierarchy, const sb_groups_t *groups)
{
    hierarchy->stages = (uint32_t)groups->count;
    for (size_t i = 0; i < groups->count; i++) {
        const sb_stage_t *stage = &groups->stage[i];
        hierarchy->stage[i] = (sb_stage_shape_t){stage->kind, (uint32_t)stage->count,
                                                 (uint32_t)sb_stage_largest(stage)};
    }
}

/* Behind all stages of one that was made for so many. */
static uint32_t *room_of(const sb_hierarchy_t *hierarchy, size_t stages)
{
    return (uint32_t *)(void *)(hierarchy->stage + stages);
}

/* All ranks in one group, where there is no hierarchy and groups may be of any size. */
static void make_flat(sb_hierarchy_t *hierarchy, uint32_t rank, uint32_t size, const char *reason)
{
    uint32_t *room = room_of(hierarchy, 1);

    for (uint32_t i = 0; i < size; i++)
        room[i] = i;
    hierarchy->refusal = reason;
    hierarchy->stages = hierarchy->count = 1;
    hierarchy->stage[0] = (sb_stage_shape_t){SB_LEVEL_TOP, 1, size};
    hierarchy->group[0] = (sb_group_t){.size = size, .members = room};
    hierarchy->led = rank == 0;
    hierarchy->meets = false; /* too many, perhaps */
}

static sb_hierarchy_t *make(const sb_groups_t *groups, unsigned levels, uint32_t most,
                            const sb_team_t *team)
{
    size_t stages = sb_max(groups->count, 1);
    sb_hierarchy_t *made = calloc(1, sb_hierarchy_bytes(stages, team->size));

    if (made == NULL)
        return NULL;
    made->levels = levels;
    made->most = most;
    made->refusal = groups->refusal;
    made->stage = (sb_stage_shape_t *)(void *)(made->group + stages);
    if (groups->count == 0) {
        make_flat(made, team->rank, team->size, groups->refusal);
    } else {
        keep_shape(made, groups);
        keep_own(made, groups, team->rank, room_of(made, stages));
    }
    return made;
}

/* Groups by levels; where there are none, of ranks side by side if they may not be of any size. */
sb_status_t sb_team_groups(sb_groups_t *groups, sb_team_t *team, unsigned kinds, uint32_t most)
{
    sb_levels_t levels;
    const char *refusal;

    sb_levels_read(&levels, sb_team_topology(team), kinds);
    sb_status_t status = sb_groups_of_locality(groups, &levels, &team->locality, most);
    if (status == SB_ERR_UNSUPPORTED && most > 0) {
        refusal = groups->refusal;
        status = sb_groups_of_ranks(groups, team->size, most);
        groups->refusal = refusal;
    }
    return status;
}

static const sb_hierarchy_t *build(sb_team_t *team, unsigned levels, uint32_t most)
{
    sb_groups_t groups = {0};
    sb_hierarchy_t *made = NULL;

    if (sb_team_groups(&groups, team, levels, most) != SB_ERR_MEMORY)
        made = make(&groups, levels, most, team);
    sb_groups_free(&groups);
    if (made == NULL)
        return NULL;
    /* Last: the first are those that calls of the team use. */
    sb_hierarchy_t **end = &team->hierarchies;
    while (*end != NULL)
        end = &(*end)->next;
    *end = made;
    return made;
}

const sb_hierarchy_t *sb_team_hierarchy(sb_team_t *team, unsigned levels, uint32_t most)
{
    for (const sb_hierarchy_t *at = team->hierarchies; at != NULL; at = at->next) {
        if (at->levels == levels && at->most == most)
            return at;
    }
    return build(team, levels, most);
}

bool sb_hierarchy_named(const char *barrier, unsigned *levels)
{
    static const char prefix[] = "hierarchical-";

    return strncmp(barrier, prefix, strlen(prefix)) == 0 &&
           sb_levels_parse(barrier + strlen(prefix), levels);
}

void sb_team_hierarchies_refuse(sb_team_t *team, const char *reason)
{
    team->locality.refusal = reason;
    for (sb_hierarchy_t *at = team->hierarchies; at != NULL; at = at->next)
        make_flat(at, team->rank, team->size, reason);
}

void sb_team_hierarchies_free(sb_team_t *team)
{
    while (team->hierarchies != NULL) {
        sb_hierarchy_t *next = team->hierarchies->next;
        free(team->hierarchies);
        team->hierarchies = next;
    }
}
