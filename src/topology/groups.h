/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TOPOLOGY_GROUPS_H
#define SB_TOPOLOGY_GROUPS_H

#include "topology/levels.h"

/*
 * The hierarchy of a team: from the lowest level up, ranks that share a unit form a group, led by
 * the lowest rank; the leaders go on to the next level, and a last group joins those that are left.
 * A rank that has no place at a level, or nobody to share its unit with, goes on by itself. So
 * following the stages up, every rank but one is once a follower, and rank 0 leads the last group.
 */

/* One level of the hierarchy, with at least one group of two or more ranks. */
typedef struct sb_stage {
    sb_level_kind_t kind;
    size_t count;      /* groups, in the order of their leaders */
    uint32_t *start;   /* group g is members[start[g]] to members[start[g + 1] - 1] */
    uint32_t *members; /* ranks, ascending within a group: the first leads */
} sb_stage_t;

/* Stages that a hierarchy may have: one for each level and the top, and where groups are divided,
 * those of the parts. */
#define SB_STAGES_MOST 24

typedef struct sb_groups {
    size_t count; /* stages, from the lowest level up */
    sb_stage_t stage[SB_STAGES_MOST];
    const char *refusal; /* why there is no hierarchy, or NULL */
} sb_groups_t;

/* In no unit, or in more than one. */
#define SB_NO_UNIT (-1)

/* In which unit of each kind of level each rank of a team runs: places in few bytes. */
typedef struct sb_locality {
    size_t ranks;
    size_t bound;                    /* ranks that may not run on every processor of the machine */
    const char *refusal;             /* why nothing should be made of them, or NULL */
    int16_t (*unit)[SB_LEVELS_MOST]; /* of each rank: the index in the level's units */
} sb_locality_t;

/*
 * Finds the locality map of `ranks` ranks at `places`, at all levels of the machine. Returns
 * SB_ERR_MEMORY, or SB_OK. To be freed if it is SB_OK.
 */
sb_status_t sb_locality_make(sb_locality_t *locality, const sb_topology_t *topology,
                             const sb_place_t *places, size_t ranks);
void sb_locality_free(sb_locality_t *locality);

/* Tells maps apart: two that differ hardly ever have the same number. */
uint32_t sb_locality_hash(const sb_locality_t *locality);

/*
 * Builds the hierarchy of ranks whose locality map is known. It follows from its arguments alone.
 * Groups of more than `most` ranks are divided into parts, even in size, whose leaders form a group
 * again; 0: no group is. Returns SB_ERR_UNSUPPORTED and sets `refusal` if a flat algorithm should
 * be used instead, SB_ERR_MEMORY, or SB_OK. To be freed in any case.
 */
sb_status_t sb_groups_of_locality(sb_groups_t *groups, const sb_levels_t *levels,
                                  const sb_locality_t *locality, size_t most);

/* The same without levels: ranks side by side form the parts. */
sb_status_t sb_groups_of_ranks(sb_groups_t *groups, size_t ranks, size_t most);

void sb_groups_free(sb_groups_t *groups);

/* Number of members of group `group`, and the first of them, which leads. */
size_t sb_stage_size(const sb_stage_t *stage, size_t group);
const uint32_t *sb_stage_members(const sb_stage_t *stage, size_t group);

/* Members of the largest group of the stage. */
size_t sb_stage_largest(const sb_stage_t *stage);

/* The group that `rank` belongs to at this stage, or -1. */
int sb_stage_group_of(const sb_stage_t *stage, uint32_t rank);

#endif
