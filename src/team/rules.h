/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_TEAM_RULES_H
#define SB_TEAM_RULES_H

#include "base/collectives.h"
#include "base/compiler.h"

#include <stdbool.h>

/*
 * Rules of a tuning file: what is to be set for which calls. Plain data, which rank 0 of a team
 * hands to the others; what the numbers mean is known where they are used.
 *
 * For each thing that can be set, the first rule that fits the call and sets it decides.
 */

typedef enum sb_tunable {
    SB_TUNE_ALGORITHM, /* SB_RULE_AUTO, SB_RULE_HOST, or SB_RULE_FIRST + its place in the table */
    SB_TUNE_FRAGMENT,  /* the others: as the variables of these names */
    SB_TUNE_ARITY,
    SB_TUNE_RING,
    SB_TUNE_SLOTS,
    SB_TUNE_SETS,
    SB_TUNE_TREE,
    SB_TUNABLES
} sb_tunable_t;

enum { SB_RULE_AUTO, SB_RULE_HOST, SB_RULE_FIRST };

typedef struct sb_rule {
    uint32_t number; /* in its file, from 1 */
    uint32_t collective;
    uint32_t sets;          /* bit t: sets the tunable t */
    int32_t oversubscribed; /* 0, 1; -1: either */
    uint32_t levels;        /* SB_LEVEL_BIT of those that its algorithm groups by; 0: by none */
    uint32_t measured;      /* 1: by a program that measured; 0: as far as is known, by a person */
    uint64_t ranks_from;    /* both ends of a range belong to it */
    uint64_t ranks_to;
    uint64_t bytes_from;
    uint64_t bytes_to; /* UINT64_MAX: no limit */
    uint64_t value[SB_TUNABLES];
} sb_rule_t;

#define SB_RULES_MOST 64

typedef struct sb_rules {
    uint32_t count;
    sb_rule_t rule[SB_RULES_MOST];
} sb_rules_t;

/* Leaves those rules that fit teams of so many ranks. */
void sb_rules_keep(sb_rules_t *rules, uint32_t ranks, bool oversubscribed);

static inline bool sb_rule_sets(const sb_rule_t *rule, sb_collective_t collective,
                                sb_tunable_t tunable)
{
    return rule->collective == (uint32_t)collective && (rule->sets & (1u << tunable)) != 0;
}

/* The rule that decides for a message of `bytes`, or NULL. `rules`: NULL, or those that fit. */
static inline const sb_rule_t *sb_rule_find(const sb_rules_t *rules, sb_collective_t collective,
                                            sb_tunable_t tunable, uint64_t bytes)
{
    for (uint32_t i = 0; rules != NULL && i < rules->count; i++) {
        const sb_rule_t *rule = &rules->rule[i];
        if (sb_rule_sets(rule, collective, tunable) && bytes >= rule->bytes_from &&
            bytes <= rule->bytes_to)
            return rule;
    }
    return NULL;
}

/* What it sets, or `otherwise`. */
static inline uint64_t sb_rules_value(const sb_rules_t *rules, sb_collective_t collective,
                                      sb_tunable_t tunable, uint64_t bytes, uint64_t otherwise)
{
    const sb_rule_t *rule = sb_rule_find(rules, collective, tunable, bytes);

    return SB_LIKELY(rule == NULL) ? otherwise : rule->value[tunable];
}

/* What the first rule without limits of bytes sets, or `otherwise`: for what is made once. */
uint64_t sb_rules_value_of_all(const sb_rules_t *rules, sb_collective_t collective,
                               sb_tunable_t tunable, uint64_t otherwise);

/*
 * Takes over the rules of rank 0 of a team that has just been made, and makes what they need.
 * Collective, where there are any. Who fails here fails in the team's first call, like the others.
 */
struct sb_team;
void sb_rules_adopt(struct sb_team *team);

/* The same of a broadcast's ring, of which a rule may say that it is as without one. */
uint64_t sb_rules_ring(const sb_rules_t *rules, uint64_t otherwise);

#endif
