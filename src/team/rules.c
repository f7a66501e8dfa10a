/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/rules.h"

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
