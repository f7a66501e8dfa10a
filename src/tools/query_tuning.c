/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/query.h"

#include "base/config.h"
#include "select/tuning.h"

#include <stdlib.h>
#include <string.h>

json_t *sb_query_tuning_error(const char *path)
{
    char error[1024];
    sb_rules_t rules;

    return sb_tuning_read(path, &rules, error, sizeof error) ? json_null() : sb_tool_text(error);
}

/* {"from": 0, "to": null}: null is no limit. */
static json_t *show_range(uint64_t from, uint64_t to)
{
    return json_pack("{s:I, s:o}", "from", (json_int_t)from, "to",
                     to == UINT64_MAX ? json_null() : json_integer((json_int_t)to));
}

/* The trees by name; 0 is auto wherever a variable has it. */
static json_t *show_value(sb_tunable_t tunable, uint64_t value)
{
    static const char *const trees[] = {
        [SB_TREE_AUTO] = "auto", [SB_TREE_FLAT] = "flat",       [SB_TREE_CHAIN] = "chain",
        [SB_TREE_KARY] = "kary", [SB_TREE_KNOMIAL] = "knomial",
    };

    if (tunable == SB_TUNE_ALGORITHM)
        return json_string(sb_tuning_algorithm_name(value));
    if (tunable == SB_TUNE_TREE)
        return json_string(trees[value]);
    return value == 0 ? json_string("auto") : json_integer((json_int_t)value);
}

static json_t *describe_rule(const sb_rule_t *rule)
{
    json_t *sets = json_object(), *overruled = json_object();

    for (uint32_t t = 0; t < SB_TUNABLES; t++) {
        sb_tunable_t tunable = (sb_tunable_t)t;
        const char *name = sb_tunable_name(tunable);
        const char *variable = sb_tuning_overruled(rule, tunable);
        if ((rule->sets & (1u << t)) == 0)
            continue;
        json_object_set_new(sets, name, show_value(tunable, rule->value[t]));
        if (variable != NULL)
            json_object_set_new(overruled, name, json_string(variable));
    }
    return json_pack("{s:i, s:s, s:o, s:o, s:o, s:b, s:o, s:o}", "number", (int)rule->number,
                     "collective", sb_collective_name((sb_collective_t)rule->collective), "bytes",
                     show_range(rule->bytes_from, rule->bytes_to), "ranks",
                     show_range(rule->ranks_from, rule->ranks_to), "oversubscribed",
                     rule->oversubscribed < 0 ? json_null() : json_boolean(rule->oversubscribed),
                     "measured", (int)rule->measured, "sets", sets, "overruled", overruled);
}

/* From the variable itself: an error is the answer's, and is not reported as well. */
json_t *sb_query_tuning(const sb_query_t *query)
{
    const char *path = getenv("SOBOR_TUNING");
    char error[1024] = "";
    sb_rules_t rules = {0};
    json_t *list = json_array();

    (void)query;
    if (path == NULL || *path == '\0')
        return json_pack("{s:n, s:n, s:o}", "file", "error", "rules", list);
    bool right = sb_tuning_read(path, &rules, error, sizeof error);
    for (uint32_t i = 0; i < rules.count; i++)
        json_array_append_new(list, describe_rule(&rules.rule[i]));
    return json_pack("{s:o, s:o, s:o}", "file", sb_tool_text(path), "error",
                     right ? json_null() : sb_tool_text(error), "rules", list);
}
