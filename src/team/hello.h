/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_HELLO_H
#define SB_TEAM_HELLO_H

#include "team/team.h"

/*
 * What ranks tell each other before they are a team. All of it but the greeting is plain data of
 * one build.
 */

/*
 * The same in every build, and first where ranks know nothing of each other: whether to go on at
 * all.
 */
typedef struct sb_greeting {
    uint64_t magic;
    uint64_t build; /* sb_build_id() */
    uint64_t node;  /* hash of the machine's boot and the node's name */
    uint64_t enabled;
} sb_greeting_t;

/* What a process says of itself, once for all teams that it joins. */
typedef struct sb_profile {
    sb_greeting_t greeting;
    sb_place_t place;
    sb_settings_t settings;
    uint32_t rules; /* of its tuning file; rank 0's follow, if it has any */
} sb_profile_t;

void sb_profile_self(sb_profile_t *profile);

/*
 * Why processes that greet each other like this cannot be one team; SB_REFUSAL_NONE: they may be.
 */
sb_refusal_t sb_greetings_judge(const sb_greeting_t *first, const sb_greeting_t *other);

/* Then, each time shared memory is tried. */
typedef struct sb_hello {
    sb_remote_key_t key; /* of the region that the control block is in, */
    uint64_t offset;     /* and where in it */
    uint32_t objection;  /* see sb_front_t */
    uint16_t ready;      /* this rank has its control block, */
    uint16_t exhausted;  /* or has not, because memory is used up and not because of its kind */
} sb_hello_t;

/* Last, through the control blocks: whether this rank has those of all others. */
typedef struct sb_verdict {
    uint32_t attached;
    uint32_t locality; /* number that tells locality maps apart, as this rank found them */
} sb_verdict_t;

#endif
