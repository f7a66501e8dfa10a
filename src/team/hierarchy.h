/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_HIERARCHY_H
#define SB_TEAM_HIERARCHY_H

#include "team/team.h"
#include "topology/groups.h"

/*
 * The hierarchy of a team as one of its ranks sees it: the groups that it belongs to, from the
 * lowest level up. It leads all of them but the last, and rank 0 leads that one too. Every rank but
 * rank 0 is thus a follower exactly once. Private memory: the members of these groups alone.
 */

typedef struct sb_group {
    uint32_t size;           /* at least 2 */
    const uint32_t *members; /* ranks, ascending: the first leads */
    uint32_t leaders;        /* others of them that lead a group below */
    const uint32_t *leader;
} sb_group_t;

/* What is the same for all members about one stage. */
typedef struct sb_stage_shape {
    sb_level_kind_t kind;
    uint32_t groups;
    uint32_t largest; /* members of the largest group */
} sb_stage_shape_t;

typedef struct sb_hierarchy {
    unsigned levels;     /* a set of SB_LEVEL_BIT: those it was asked to go by */
    uint32_t most;       /* members that a group may have; 0: any number */
    const char *refusal; /* why it goes by no levels, or NULL */
    struct sb_hierarchy *next;
    sb_stage_shape_t *stage; /* of all stages */
    uint32_t stages;
    uint32_t led;       /* groups that this rank leads: the first of `group` */
    uint32_t count;     /* groups that it belongs to */
    uint32_t lowest;    /* stage of the first of them */
    bool meets;         /* the last of them joins the leaders of all stages */
    sb_group_t group[]; /* from the lowest level up */
} sb_hierarchy_t;

/*
 * One of so many stages, at least one, is one piece of memory of so many bytes. It has room for
 * twice all ranks: the groups of one rank have no member in common but itself, and no more leaders
 * than members.
 */
static inline size_t sb_hierarchy_bytes(size_t stages, size_t ranks)
{
    return sizeof(sb_hierarchy_t) + stages * (sizeof(sb_group_t) + sizeof(sb_stage_shape_t)) +
           2 * (ranks + stages) * sizeof(uint32_t);
}

/*
 * The team's hierarchy by `levels`, with groups of at most `most`, made at the first call and kept.
 * It follows from the members' places, so all members have the same. NULL: this rank has no private
 * memory for it.
 */
const sb_hierarchy_t *sb_team_hierarchy(sb_team_t *team, unsigned levels, uint32_t most);

/* The levels within which many ranks meet, and the most that should meet in one group. */
#define SB_SUBGROUP_LEVELS (SB_LEVEL_BIT(SB_LEVEL_L3) | SB_LEVEL_BIT(SB_LEVEL_NUMA))
#define SB_SUBGROUP_MOST 10

static inline uint32_t sb_team_subgroup_most(const sb_team_t *team)
{
    uint32_t most = team->settings.barrier_arity;

    return most < 2 ? SB_SUBGROUP_MOST : most;
}

/* The hierarchy of small groups: by these levels, of at most so many or SOBOR_BARRIER_ARITY. */
static inline const sb_hierarchy_t *sb_team_subgroups(sb_team_t *team)
{
    return sb_team_hierarchy(team, SB_SUBGROUP_LEVELS, sb_team_subgroup_most(team));
}

/*
 * The groups of all members, as each of them finds them for its own hierarchy. Not kept: for
 * reports. Returns SB_ERR_UNSUPPORTED if there are none. To be freed in any case.
 */
sb_status_t sb_team_groups(sb_groups_t *groups, sb_team_t *team, unsigned levels, uint32_t most);

/* The levels that a barrier of that name, such as "hierarchical-l3+numa", goes by, in any order.
 * False: the name says none. */
bool sb_hierarchy_named(const char *barrier, unsigned *levels);

/* Makes all ranks one group, for `reason`, in what was made and what will be. Cannot fail. */
void sb_team_hierarchies_refuse(sb_team_t *team, const char *reason);

/* For the end of the team. */
void sb_team_hierarchies_free(sb_team_t *team);

#endif
