/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/query.h"

#include "base/config.h"
#include "baseline/baseline.h"
#include "select/measured.h"
#include "tools/asked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The ranks as they were asked for; else bound like this process, as unbound ranks are. */
static sb_place_t *place_ranks(const sb_query_t *query, const sb_topology_t *topology)
{
    if (query->mapped || query->machine != NULL)
        return sb_query_places(query, topology);
    sb_place_t *places = sb_tool_take(query->ranks, sizeof *places);
    sb_place_self(&places[0]);
    places[0].local_ranks = query->ranks;
    for (uint32_t i = 1; i < query->ranks; i++)
        places[i] = places[0];
    return places;
}

static sb_choice_t choose(const sb_query_t *query, const sb_shape_t *shape,
                          const sb_settings_t *settings)
{
    if (sb_config()->enabled.number == 0)
        return (sb_choice_t){NULL, "SOBOR is off", NULL, NULL};
    if (query->ranks == 1)
        return (sb_choice_t){NULL, "a communicator of one rank has nothing to share", NULL, NULL};
    return sb_choose(query->collective, shape, settings, query->bytes, false);
}

/* The size for which the plan compares costs: the largest of its class. */
static size_t planned_bytes(const sb_query_t *query)
{
    return query->collective == SB_BARRIER ? 0 : sb_class_bytes(sb_size_class(query->bytes));
}

static json_t *describe_candidate(const sb_algorithm_t *algorithm, const sb_shape_t *shape,
                                  const sb_choice_t *choice, const sb_query_t *query)
{
    const char *obstacle = choice->algorithm == NULL ? choice->reason : NULL;

    if (obstacle == NULL && algorithm->levels != 0)
        obstacle = shape->ungrouped;
    if (obstacle == NULL && sb_algorithm_needs_name(algorithm, shape) &&
        choice->algorithm != algorithm)
        obstacle = "only when asked for by name";
    if (obstacle != NULL)
        return json_pack("{s:s, s:b, s:s, s:n}", "name", algorithm->name, "eligible", 0, "reason",
                         obstacle, "expected_us");
    double expected_us = algorithm->cost(shape, planned_bytes(query)) / 1000;
    return json_pack("{s:s, s:b, s:o, s:f}", "name", algorithm->name, "eligible", 1, "reason",
                     json_sprintf("expected %.2f us", expected_us), "expected_us", expected_us);
}

/* How a call may come to the host. */
static json_t *describe_host(const sb_choice_t *choice)
{
    const char *when = "when asked for, or when Sobor cannot serve; it is not tried against Sobor";

    if (choice->own != NULL && choice->algorithm == NULL)
        when = "as the rule says, until trials find Sobor faster (SOBOR_TRIALS)";
    else if (choice->own != NULL)
        when = "where trials find it faster (SOBOR_TRIALS), or when Sobor cannot serve";
    return json_pack("{s:s, s:b, s:s, s:n}", "name", "host", "eligible", 1, "reason", when,
                     "expected_us");
}

static json_t *list_candidates(const sb_query_t *query, const sb_shape_t *shape,
                               const sb_choice_t *choice)
{
    json_t *list = json_array();

    for (size_t i = 0; i < sb_algorithm_count(); i++) {
        const sb_algorithm_t *algorithm = sb_algorithm_at(i);
        bool shown = !algorithm->unlisted || algorithm == choice->algorithm;
        if (algorithm->collective == query->collective && shown)
            json_array_append_new(list, describe_candidate(algorithm, shape, choice, query));
    }
    json_array_append_new(list, describe_host(choice));
    return list;
}

/* Those that the query says, and those that follow them; else as they are for this process. */
static const sb_prices_t *find_prices(const sb_query_t *query, const sb_settings_t *settings)
{
    static sb_prices_t prices;

    if (!(query->line > 0))
        return &settings->prices;
    prices.line = query->line;
    prices.byte = query->byte;
    sb_prices_follow(&prices, (sb_known_prices_t)1 << sb_price_find("line") |
                                  (sb_known_prices_t)1 << sb_price_find("byte"));
    return &prices;
}

static sb_shape_t find_shape(const sb_query_t *query, const sb_settings_t *settings)
{
    sb_query_machine_t machine = sb_query_open_machine(query);
    sb_place_t *places = place_ranks(query, machine.topology);
    sb_shape_t shape;

    if (sb_asked_shape(&shape, settings, machine.topology, places, query->ranks) != SB_OK)
        sb_tool_fail("sobor-query: out of memory");
    shape.prices = find_prices(query, settings);
    shape.processors = (uint32_t)sb_max(1, shape.processors);
    if (query->oversubscribed >= 0)
        shape.oversubscribed = query->oversubscribed != 0;
    if (query->oversubscribed == 0) /* as it was said */
        shape.processors = (uint32_t)sb_max(shape.processors, query->ranks);
    free(places);
    sb_query_close_machine(&machine);
    return shape;
}

/* Which rule it was that decided, or that was refused. */
static void name_rule(const sb_query_t *query, const sb_settings_t *settings, sb_choice_t *choice,
                      char *text, size_t room)
{
    const sb_rule_t *rule =
        sb_rule_find(settings->rules, query->collective, SB_TUNE_ALGORITHM, query->bytes);
    const char *file = sb_config()->tuning.text;

    if (rule == NULL || (choice->reason != sb_reason_rule && choice->refused == NULL))
        return;
    if (choice->refused != NULL)
        snprintf(text, room, "rule %u of %s asks for %s, but: %s", rule->number, file,
                 choice->refused->name, choice->reason);
    else
        snprintf(text, room, "rule %u of %s", rule->number, file);
    choice->reason = text;
}

/* The prices of this machine say nothing of another. */
static void adopt_measured(const sb_query_t *query)
{
    static sb_measured_t measured;

    sb_measured_find(&measured, query->ranks, "");
    sb_settings_price(&measured.prices);
}

/* What was measured under one MPI or another, where no rule of the user's says something else. */
static json_t *list_measured(const sb_query_t *query, const sb_shape_t *shape,
                             const sb_settings_t *settings)
{
    bool ruled =
        sb_rule_find(settings->rules, query->collective, SB_TUNE_ALGORITHM, query->bytes) != NULL;

    return query->machine != NULL || ruled ? json_array()
                                           : sb_query_measured_rules(query, &shape->oversubscribed);
}

json_t *sb_query_choice(const sb_query_t *query)
{
    sb_settings_t settings;
    sb_rules_t rules;
    char by_rule[1024];

    sb_baselines_add();
    if (query->machine == NULL)
        adopt_measured(query);
    sb_settings_self(&settings);
    sb_settings_check(&settings);
    sb_shape_t shape = find_shape(query, &settings);
    sb_asked_rules(&settings, &shape, &rules);
    sb_choice_t choice = choose(query, &shape, &settings);
    sb_prices_t prices = sb_shape_prices(&shape, shape.prices);
    shape.prices = &prices;
    name_rule(query, &settings, &choice, by_rule, sizeof by_rule);
    const char *name = choice.algorithm == NULL ? "host" : choice.algorithm->name;
    return json_pack("{s:s, s:I, s:I, s:b, s:s, s:o, s:b, s:o, s:o}", "collective",
                     sb_collective_name(query->collective), "bytes", (json_int_t)query->bytes,
                     "ranks", (json_int_t)query->ranks, "oversubscribed", shape.oversubscribed,
                     "algorithm", name, "reason", sb_tool_text(choice.reason), "trials",
                     choice.own != NULL, "candidates", list_candidates(query, &shape, &choice),
                     "measured", list_measured(query, &shape, &settings));
}
