/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_MEMBER_H
#define SB_TEAM_MEMBER_H

#include "team/team.h"

/* What the members of a team in set-up tell each other. Plain data of this one build. */

/* First, where a team is large: enough to see that it cannot be. */
typedef struct sb_census {
    uint64_t node; /* hash of the machine's boot and the node's name */
    uint32_t enabled;
    uint32_t objection; /* see sb_front_t */
} sb_census_t;

/* Then, each time shared memory is tried. */
typedef struct sb_member {
    sb_census_t census;
    sb_ticket_t ticket;
    uint64_t offset;    /* of the lane in the region */
    uint32_t ready;     /* this rank has its block, */
    uint32_t exhausted; /* or has not, because memory is used up and not because of its kind */
    sb_place_t place;
    sb_settings_t settings;
    uint32_t rules;     /* of its tuning file; rank 0's follow, if it has any */
    sb_reason_t reason; /* why not, if not */
} sb_member_t;

/* Last, whether everybody has everybody's lane. */
typedef struct sb_verdict {
    uint32_t attached;
    uint32_t homes; /* number that tells the homes of the ranks apart, as this rank found them */
    sb_reason_t reason;
} sb_verdict_t;

/* This process's census, but for the objection. */
void sb_census_self(sb_census_t *census);

#endif
