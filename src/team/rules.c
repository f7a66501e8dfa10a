/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/rules.h"

#include "team/hierarchy.h"

#include <string.h>

static bool fits(const sb_rule_t *rule, uint32_t ranks, bool oversubscribed)
{
    return ranks >= rule->ranks_from && ranks <= rule->ranks_to &&
           (rule->oversubscribed < 0 || (rule->oversubscribed != 0) == oversubscribed);
}

void sb_rules_keep(sb_rules_t *rules, uint32_t ranks, bool oversubscribed)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < rules->count; i++) {
        if (fits(&rules->rule[i], ranks, oversubscribed))
            rules->rule[kept++] = rules->rule[i];
    }
    rules->count = kept;
}

uint64_t sb_rules_value_of_all(const sb_rules_t *rules, sb_collective_t collective,
                               sb_tunable_t tunable, uint64_t otherwise)
{
    for (uint32_t i = 0; rules != NULL && i < rules->count; i++) {
        const sb_rule_t *rule = &rules->rule[i];
        if (sb_rule_sets(rule, collective, tunable) && rule->bytes_from == 0 &&
            rule->bytes_to == UINT64_MAX)
            return rule->value[tunable];
    }
    return otherwise;
}

/* 0 is "auto", see SOBOR_RING. */
uint64_t sb_rules_ring(const sb_rules_t *rules, uint64_t otherwise)
{
    uint64_t bytes = sb_rules_value_of_all(rules, SB_BCAST, SB_TUNE_RING, 0);

    return bytes != 0 ? bytes : otherwise;
}

/*
 * Everybody gets the rules of rank 0, in as many exchanges as they need: none, where it has none.
 */
static sb_status_t share(sb_team_t *team)
{
    size_t bytes = team->rules->count * sizeof team->rules->rule[0];
    char piece[SB_EXCHANGE_BYTES] = {0}, other[SB_EXCHANGE_BYTES];
    sb_status_t status = SB_OK;

    for (size_t offset = 0; offset < bytes && status == SB_OK; offset += SB_EXCHANGE_BYTES) {
        size_t part = sb_min(bytes - offset, SB_EXCHANGE_BYTES);
        if (team->rank == 0)
            memcpy(piece, (const char *)team->front.rules->rule + offset, part);
        sb_team_tell(team, piece, part);
        for (uint32_t i = 0; i < team->size && status == SB_OK; i++)
            status =
                sb_team_hear(team, i, i == 0 ? (char *)team->rules->rule + offset : other, part);
    }
    return status;
}

/* The rule names an algorithm that goes by other levels than the settings do. */
static bool groups_anew(const sb_team_t *team, const sb_rule_t *rule)
{
    return (rule->sets & 1u << SB_TUNE_ALGORITHM) != 0 && rule->levels != 0 &&
           rule->levels != team->settings.levels;
}

/*
 * The hierarchies that rules go by, before a call needs one: a rank that had no memory for it then
 * would leave the others waiting. Where one has none now no rank goes by such a rule.
 */
static sb_status_t group(sb_team_t *team)
{
    sb_rules_t *rules = team->rules;
    bool any = false, mine = true, all = true;

    for (uint32_t i = 0; i < rules->count; i++) {
        if (!groups_anew(team, &rules->rule[i]))
            continue;
        any = true;
        mine = mine && sb_team_hierarchy(team, rules->rule[i].levels, 0) != NULL;
    }
    sb_status_t status = any ? sb_team_agree(team, mine, &all) : SB_OK;
    for (uint32_t i = 0; i < rules->count && !all; i++) {
        if (groups_anew(team, &rules->rule[i]))
            rules->rule[i].sets &= ~(1u << SB_TUNE_ALGORITHM);
    }
    return status;
}

void sb_rules_adopt(sb_team_t *team)
{
    if (team->rules == NULL)
        return;
    team->failure = share(team);
    if (team->failure != SB_OK)
        return;
    sb_rules_keep(team->rules, team->size, team->oversubscribed);
    team->failure = group(team);
    team->settings.rules = team->rules->count > 0 ? team->rules : NULL;
}
