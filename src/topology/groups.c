/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/groups.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* No group has been made for this unit yet. */
#define NO_GROUP UINT32_MAX

/* The ranks that have come up to the present level, ascending. */
typedef struct climbers {
    uint32_t *rank;
    int32_t *unit;     /* of each, at the present level; -1: no place */
    uint32_t *sharers; /* for each unit: climbers in it */
    uint32_t *next;    /* for each unit: where its group's next member goes, or NO_GROUP */
    size_t count;
} climbers_t;

size_t sb_stage_size(const sb_stage_t *stage, size_t group)
{
    return stage->start[group + 1] - stage->start[group];
}

const uint32_t *sb_stage_members(const sb_stage_t *stage, size_t group)
{
    return stage->members + stage->start[group];
}

size_t sb_stage_largest(const sb_stage_t *stage)
{
    size_t largest = 0;

    for (size_t group = 0; group < stage->count; group++)
        largest = sb_max(largest, sb_stage_size(stage, group));
    return largest;
}

int sb_stage_group_of(const sb_stage_t *stage, uint32_t rank)
{
    for (size_t group = 0; group < stage->count; group++) {
        for (uint32_t i = stage->start[group]; i < stage->start[group + 1]; i++) {
            if (stage->members[i] == rank)
                return (int)group;
        }
    }
    return -1;
}

static void free_climbers(climbers_t *climbers)
{
    free(climbers->rank);
    free(climbers->unit);
    free(climbers->sharers);
    free(climbers->next);
}

static bool make_climbers(climbers_t *climbers, size_t ranks, size_t units)
{
    *climbers = (climbers_t){
        .rank = malloc(ranks * sizeof climbers->rank[0]),
        .unit = malloc(ranks * sizeof climbers->unit[0]),
        .sharers = malloc(sb_max(units, ranks) * sizeof climbers->sharers[0]),
        .next = malloc(sb_max(units, ranks) * sizeof climbers->next[0]),
        .count = ranks,
    };
    for (size_t i = 0; climbers->rank != NULL && i < ranks; i++)
        climbers->rank[i] = (uint32_t)i;
    return climbers->rank != NULL && climbers->unit != NULL && climbers->sharers != NULL &&
           climbers->next != NULL;
}

/* Finds everyone's unit and counts who shares it; `level` NULL: all share one. */
static void locate(climbers_t *climbers, const sb_level_t *level, const sb_locality_t *locality)
{
    size_t units = level == NULL ? 1 : level->count;

    memset(climbers->sharers, 0, units * sizeof climbers->sharers[0]);
    for (size_t i = 0; i < climbers->count; i++) {
        int unit = level == NULL ? 0 : locality->unit[climbers->rank[i]][level->kind];
        climbers->unit[i] = unit;
        if (unit >= 0)
            climbers->sharers[unit]++;
    }
    for (size_t i = 0; i < units; i++)
        climbers->next[i] = NO_GROUP;
}

static bool has_company(const climbers_t *climbers, size_t i)
{
    return climbers->unit[i] >= 0 && climbers->sharers[climbers->unit[i]] >= 2;
}

/* Forms the groups; their leaders, and those without company, stay climbers. */
static void form_groups(climbers_t *climbers, sb_stage_t *stage)
{
    uint32_t laid_out = 0;
    size_t left = 0;

    for (size_t i = 0; i < climbers->count; i++) {
        uint32_t rank = climbers->rank[i];
        int32_t unit = climbers->unit[i];
        bool company = has_company(climbers, i);
        bool leads = company && climbers->next[unit] == NO_GROUP;
        if (leads) {
            stage->start[stage->count++] = laid_out;
            climbers->next[unit] = laid_out;
            laid_out += climbers->sharers[unit];
        }
        if (company)
            stage->members[climbers->next[unit]++] = rank;
        if (leads || !company)
            climbers->rank[left++] = rank;
    }
    stage->start[stage->count] = laid_out;
    climbers->count = left;
}

static void free_stage(sb_stage_t *stage)
{
    free(stage->start);
    free(stage->members);
}

/* Climbers in the unit with the most of them. */
static size_t most_sharers(const climbers_t *climbers, const sb_level_t *level)
{
    size_t most = 0;

    for (size_t i = 0; i < (level == NULL ? 1 : level->count); i++)
        most = sb_max(most, climbers->sharers[i]);
    return most;
}

/*
 * Divides each unit's climbers into parts of at most `most`: the parts take the place of the units.
 * Parts are numbered by the climber that comes first, so `next` and `sharers` have room.
 */
static sb_status_t divide(climbers_t *climbers, size_t most)
{
    size_t units = 0, parts = 0;

    for (size_t i = 0; i < climbers->count; i++)
        units = sb_max(units, (size_t)(climbers->unit[i] + 1));
    uint32_t *seen = calloc(units + 1, sizeof seen[0]);
    int32_t *part = calloc(units + 1, sizeof part[0]);
    uint32_t *sharers = calloc(climbers->count, sizeof sharers[0]);
    for (size_t i = 0; seen != NULL && part != NULL && sharers != NULL && i < climbers->count;
         i++) {
        int32_t unit = climbers->unit[i];
        if (unit == SB_NO_UNIT)
            continue;
        size_t all = climbers->sharers[unit], pieces = sb_divide_up(all, most);
        size_t at = seen[unit]++;
        if (at == 0 || at * pieces / all != (at - 1) * pieces / all)
            part[unit] = (int32_t)parts++;
        climbers->unit[i] = part[unit];
        sharers[part[unit]]++;
    }
    bool done = seen != NULL && part != NULL && sharers != NULL;
    for (size_t i = 0; done && i < parts; i++) {
        climbers->sharers[i] = sharers[i];
        climbers->next[i] = NO_GROUP;
    }
    free(seen);
    free(part);
    free(sharers);
    return done ? SB_OK : SB_ERR_MEMORY;
}

/* Makes a stage of the units that the climbers have, unless nobody shares one. */
static sb_status_t add_stage(sb_groups_t *groups, climbers_t *climbers, sb_level_kind_t kind)
{
    sb_stage_t stage = {.kind = kind};
    size_t members = climbers->count;

    stage.start = malloc((members / 2 + 1) * sizeof stage.start[0]);
    stage.members = malloc(members * sizeof stage.members[0]);
    if (stage.start == NULL || stage.members == NULL) {
        free_stage(&stage);
        return SB_ERR_MEMORY;
    }
    form_groups(climbers, &stage);
    if (stage.count > 0)
        groups->stage[groups->count++] = stage;
    else
        free_stage(&stage);
    return SB_OK;
}

/* Makes the stages of one level, of the parts first; `level` NULL: all ranks share one unit. */
static sb_status_t climb(sb_groups_t *groups, climbers_t *climbers, const sb_level_t *level,
                         const sb_locality_t *locality, size_t most)
{
    sb_level_kind_t kind = level == NULL ? SB_LEVEL_TOP : level->kind;
    sb_status_t status = SB_OK;

    locate(climbers, level, locality);
    while (status == SB_OK && most > 1 && most_sharers(climbers, level) > most &&
           groups->count < SB_STAGES_MOST - SB_LEVELS_MOST - 1) {
        status = divide(climbers, most);
        if (status == SB_OK)
            status = add_stage(groups, climbers, kind);
        locate(climbers, level, locality);
    }
    return status == SB_OK ? add_stage(groups, climbers, kind) : status;
}

static bool has_unit(const sb_levels_t *levels, const int16_t *unit)
{
    for (size_t i = 0; i < levels->count; i++) {
        if (unit[levels->level[i].kind] != SB_NO_UNIT)
            return true;
    }
    return false;
}

/* Why a flat algorithm serves these ranks better, or NULL. */
static const char *find_refusal(const sb_levels_t *levels, const sb_locality_t *locality)
{
    size_t placed = 0;

    if (locality->refusal != NULL)
        return locality->refusal;
    if (locality->ranks < 2)
        return "there are fewer than two ranks";
    if (levels->count == 0)
        return "no level of this machine is shared by two or more cores";
    if (locality->bound == 0)
        return "the ranks are not bound to processors";
    for (size_t i = 0; i < locality->ranks; i++)
        placed += has_unit(levels, locality->unit[i]);
    return placed == 0 ? "every rank is bound to more than one unit of each level" : NULL;
}

static size_t most_units(const sb_levels_t *levels)
{
    size_t most = 1;

    for (size_t i = 0; i < levels->count; i++)
        most = sb_max(most, levels->level[i].count);
    return most;
}

static sb_status_t climb_all(sb_groups_t *groups, const sb_levels_t *levels,
                             const sb_locality_t *locality, size_t ranks, size_t most)
{
    climbers_t climbers;
    sb_status_t status = SB_ERR_MEMORY;

    if (make_climbers(&climbers, ranks, most_units(levels)))
        status = SB_OK;
    for (size_t i = 0; status == SB_OK && i < levels->count; i++)
        status = climb(groups, &climbers, &levels->level[i], locality, most);
    if (status == SB_OK)
        status = climb(groups, &climbers, NULL, locality, most);
    free_climbers(&climbers);
    return status;
}

sb_status_t sb_groups_of_locality(sb_groups_t *groups, const sb_levels_t *levels,
                                  const sb_locality_t *locality, size_t most)
{
    *groups = (sb_groups_t){.refusal = find_refusal(levels, locality)};
    if (groups->refusal != NULL)
        return SB_ERR_UNSUPPORTED;
    return climb_all(groups, levels, locality, locality->ranks, most);
}

sb_status_t sb_groups_of_ranks(sb_groups_t *groups, size_t ranks, size_t most)
{
    static const sb_levels_t none;

    *groups = (sb_groups_t){.refusal = NULL};
    return climb_all(groups, &none, NULL, ranks, most);
}

/* Ranks in no unit; those of the levels that count are filled in after. */
static sb_status_t open_locality(sb_locality_t *locality, size_t ranks)
{
    *locality = (sb_locality_t){.ranks = ranks, .unit = malloc(ranks * sizeof locality->unit[0])};
    if (locality->unit == NULL && ranks > 0)
        return SB_ERR_MEMORY;
    for (size_t i = 0; i < ranks; i++) {
        for (size_t kind = 0; kind < SB_LEVELS_MOST; kind++)
            locality->unit[i][kind] = SB_NO_UNIT;
    }
    return SB_OK;
}

static void count_bound(sb_locality_t *locality, const uint64_t *machine, const sb_place_t *places)
{
    locality->bound = 0;
    for (size_t i = 0; i < locality->ranks; i++)
        locality->bound +=
            !sb_cpus_empty(places[i].cpus) && !sb_cpus_inside(machine, places[i].cpus);
}

/* Each kind by itself: whether it counts beside the others depends on the set that is used. */
sb_status_t sb_locality_make(sb_locality_t *locality, const sb_topology_t *topology,
                             const sb_place_t *places, size_t ranks)
{
    if (open_locality(locality, ranks) != SB_OK)
        return SB_ERR_MEMORY;
    for (unsigned kind = 0; topology != NULL && kind < SB_LEVELS_MOST; kind++) {
        const sb_level_t *level = &topology->level[kind];
        for (size_t rank = 0; level->cores_per_unit >= 2 && rank < ranks; rank++)
            locality->unit[rank][kind] = (int16_t)sb_level_unit_of(level, places[rank].cpus);
    }
    if (topology != NULL)
        count_bound(locality, topology->cpus, places);
    return SB_OK;
}

void sb_locality_free(sb_locality_t *locality)
{
    free(locality->unit);
    locality->unit = NULL;
    locality->ranks = 0;
}

uint32_t sb_locality_hash(const sb_locality_t *locality)
{
    return (uint32_t)sb_hash_bytes(SB_HASH_START ^ locality->bound, locality->unit,
                                   locality->ranks * sizeof locality->unit[0]);
}

void sb_groups_free(sb_groups_t *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        free_stage(&groups->stage[i]);
    groups->count = 0;
}
