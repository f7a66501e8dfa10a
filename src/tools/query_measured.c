/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of this machine by measurement, and where that is from. */
#include "tools/query.h"

#include "base/config.h"
#include "select/measured.h"
#include "select/tuning.h"

#include <stdlib.h>

/* "measured", "built in", or "follows line": as many times what is usual as that price is. */
static json_t *source_of(const sb_measured_t *measured, size_t index)
{
    size_t followed = sb_price_find(sb_price_at(index)->follows);

    if (measured->known >> index & 1)
        return json_string("measured");
    while (followed != sb_price_find(sb_price_at(followed)->follows) &&
           (measured->known >> followed & 1) == 0)
        followed = sb_price_find(sb_price_at(followed)->follows);
    if (measured->known >> followed & 1)
        return json_sprintf("follows %s", sb_price_at(followed)->name);
    return json_string("built in");
}

json_t *sb_query_prices(const sb_query_t *query)
{
    json_t *list = json_array();
    sb_measured_t measured;

    sb_measured_find(&measured, query->ranks, "");
    for (size_t i = 0; i < sb_price_count(); i++) {
        const sb_price_t *price = sb_price_at(i);
        json_array_append_new(list,
                              json_pack("{s:s, s:f, s:s, s:s, s:o}", "name", price->name, "value",
                                        sb_price_get(&measured.prices, i), "unit", price->unit,
                                        "doc", price->doc, "source", source_of(&measured, i)));
    }
    return list;
}

static json_t *text_or_null(const char *text)
{
    return *text == '\0' ? json_null() : sb_tool_text(text);
}

/* "bcast 0 4096 2 0 host", as parts. */
static json_t *describe_rule(const sb_rule_t *rule, const char *mpi, const char *file)
{
    return json_pack(
        "{s:o, s:s, s:s, s:I, s:o, s:I, s:b, s:s}", "file", sb_tool_text(file), "mpi", mpi,
        "collective", sb_collective_name((sb_collective_t)rule->collective), "from",
        (json_int_t)rule->bytes_from, "to",
        rule->bytes_to == UINT64_MAX ? json_null() : json_integer((json_int_t)rule->bytes_to),
        "ranks", (json_int_t)rule->ranks_from, "oversubscribed", rule->oversubscribed != 0,
        "algorithm", sb_tuning_algorithm_name(rule->value[SB_TUNE_ALGORITHM]));
}

/* Whether it would decide for the call that is asked about. */
static bool decides(const sb_rule_t *rule, const sb_query_t *query, bool oversubscribed)
{
    return rule->collective == (uint32_t)query->collective && rule->ranks_from == query->ranks &&
           (rule->oversubscribed != 0) == oversubscribed && rule->bytes_from <= query->bytes &&
           query->bytes <= rule->bytes_to && sb_tuning_overruled(rule, SB_TUNE_ALGORITHM) == NULL;
}

static void add_rules(json_t *list, const sb_cache_entry_t *entry, const char *file,
                      const sb_query_t *query, const bool *oversubscribed)
{
    for (uint32_t r = 0; r < entry->rules.count; r++) {
        const sb_rule_t *rule = &entry->rules.rule[r];
        if (oversubscribed == NULL || decides(rule, query, *oversubscribed))
            json_array_append_new(list, describe_rule(rule, entry->key.mpi, file));
    }
}

json_t *sb_query_measured_rules(const sb_query_t *query, const bool *oversubscribed)
{
    json_t *list = json_array();
    sb_cache_t *cache = sb_tool_take(1, sizeof *cache);
    char path[SB_CACHE_PATH], error[2 * SB_CACHE_PATH];
    sb_measured_t measured;

    sb_measured_find(&measured, query->ranks, "");
    bool used = sb_measured_wanted() && sb_config()->cache.number != 0;
    for (int place = 0; used && place < SB_CACHE_PLACES; place++) {
        if (!sb_cache_path(place, path, sizeof path) ||
            sb_cache_read(path, cache, error, sizeof error) != SB_CACHE_READ)
            continue;
        for (uint32_t i = 0; i < cache->count; i++) {
            const sb_cache_entry_t *entry = &cache->entry[i];
            if (sb_cache_same_machine(&entry->key, &measured.key))
                add_rules(list, entry, path, query, oversubscribed);
        }
    }
    free(cache);
    return list;
}

/* Which file is in use, or where one would be. */
json_t *sb_query_measured(const sb_query_t *query)
{
    char path[SB_CACHE_PATH] = "";
    sb_measured_t measured;
    bool used = sb_measured_wanted() && sb_config()->cache.number != 0;

    sb_measured_find(&measured, query->ranks, "");
    sb_cache_path(SB_CACHE_USER, path, sizeof path);
    return json_pack("{s:b, s:b, s:o, s:o, s:o, s:o, s:s, s:o}", "wanted", sb_measured_wanted(),
                     "cache", used, "place", text_or_null(path), "file",
                     text_or_null(measured.file), "by", text_or_null(measured.by), "error",
                     text_or_null(measured.error), "processor", measured.key.processor, "rules",
                     sb_query_measured_rules(query, NULL));
}
