/* SPDX-License-Identifier: BSD-3-Clause */
#include "select/select.h"

#include "base/config.h"
#include "base/log.h"
#include "coll/barrier/barrier.h"
#include "coll/bcast/bcast.h"
#include "coll/reduction/reduction.h"
#include "coll/vector/vector.h"
#include "team/hierarchy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const sb_algorithm_t *const algorithms[] = {
#define SB_ALGORITHM(collective, name) &sb_##collective##_##name,
#include "coll/algorithms.def"
#undef SB_ALGORITHM
};

/* What the program has beside them. Written before anything is looked up. */
static const sb_algorithm_t *const *others;
static size_t other_count;

void sb_algorithms_add(const sb_algorithm_t *const *added, size_t count)
{
    others = added;
    other_count = count;
}

size_t sb_algorithm_count(void)
{
    return SB_COUNT_OF(algorithms) + SB_LEVELS_ALL + other_count;
}

/* The hierarchical barrier comes once for each set of levels. */
const sb_algorithm_t *sb_algorithm_at(size_t index)
{
    size_t beyond = index - SB_COUNT_OF(algorithms);

    if (index < SB_COUNT_OF(algorithms))
        return algorithms[index];
    return beyond < SB_LEVELS_ALL ? &sb_barrier_hierarchical[beyond]
                                  : others[beyond - SB_LEVELS_ALL];
}

/* A set of levels may be named in any order. */
static const sb_algorithm_t *find_by_levels(const char *name)
{
    unsigned levels;

    return sb_hierarchy_named(name, &levels) ? &sb_barrier_hierarchical[levels - 1] : NULL;
}

bool sb_algorithm_named(const sb_algorithm_t *algorithm, const char *name)
{
    return strcmp(algorithm->name, name) == 0 ||
           (algorithm->former != NULL && sb_words_contain(algorithm->former, name));
}

const sb_algorithm_t *sb_algorithm_find(sb_collective_t collective, const char *name)
{
    for (size_t i = 0; i < sb_algorithm_count(); i++) {
        const sb_algorithm_t *algorithm = sb_algorithm_at(i);
        if (algorithm->collective == collective && sb_algorithm_named(algorithm, name))
            return algorithm;
    }
    return collective == SB_BARRIER ? find_by_levels(name) : NULL;
}

/* Works on groups of ranks that there are not. */
static bool needs_groups(const sb_algorithm_t *algorithm, const sb_shape_t *shape)
{
    return algorithm->levels != 0 && shape->ungrouped != NULL;
}

/* The order in which an algorithm combines is not the one that is asked for. */
typedef struct order {
    bool ranks;  /* that of ranks; brackets are free */
    bool strict; /* from left to right */
} order_t;

static bool breaks_order(const sb_algorithm_t *algorithm, const order_t *order)
{
    if (algorithm->reorders)
        return order->ranks || order->strict;
    return algorithm->brackets && order->strict;
}

static const sb_algorithm_t *cheapest_in(sb_collective_t collective, const sb_shape_t *shape,
                                         size_t bytes, const order_t *order)
{
    const sb_algorithm_t *best = NULL;
    double best_cost = 0;

    for (size_t i = 0; i < sb_algorithm_count(); i++) {
        const sb_algorithm_t *algorithm = sb_algorithm_at(i);
        if (algorithm->collective != collective || sb_algorithm_needs_name(algorithm, shape) ||
            needs_groups(algorithm, shape) || breaks_order(algorithm, order))
            continue;
        double cost = algorithm->cost(shape, bytes);
        if (best == NULL || cost < best_cost) {
            best = algorithm;
            best_cost = cost;
        }
    }
    return best;
}

sb_prices_t sb_shape_prices(const sb_shape_t *shape, const sb_prices_t *known)
{
    sb_prices_t prices = *known;

    if (sb_cost_calm(shape))
        sb_prices_suit(&prices, shape->processor);
    return prices;
}

/*
 * How a reduction combines never depends on time: it is chosen by the prices that are built in.
 * Measured ones are for what combines nothing: between algorithms that combine alike, they never
 * chose a faster one in the simulator.
 */
static sb_choice_t cheapest(sb_collective_t collective, const sb_shape_t *shape, size_t bytes,
                            const order_t *order)
{
    const sb_prices_t *known = collective >= SB_REDUCE ? &sb_prices_standard : shape->prices;
    sb_prices_t prices = sb_shape_prices(shape, known);
    sb_shape_t priced = *shape;

    priced.prices = &prices;
    const sb_algorithm_t *best = cheapest_in(collective, &priced, bytes, order);
    return (sb_choice_t){best, best == NULL ? "no algorithm" : "least expected time", NULL, NULL};
}

const char sb_reason_rule[] = "a rule of the tuning file";

/* What the user wants for the calls at hand. */
typedef struct wish {
    const sb_algorithm_t *algorithm; /* NULL: whatever is best, or the host */
    bool host;
    const char *reason; /* of taking it */
} wish_t;

/* A rule's word, where there is one; else the variable's. */
static wish_t wish_of(sb_collective_t collective, const sb_shape_t *shape,
                      const sb_settings_t *settings, const sb_rule_t *rule)
{
    const char *name = settings->algorithm[collective];

    if (rule != NULL) {
        uint64_t word = rule->value[SB_TUNE_ALGORITHM], place = word - SB_RULE_FIRST;
        bool named = word >= SB_RULE_FIRST && place < sb_algorithm_count();
        return (wish_t){named ? sb_algorithm_at(place) : NULL, word == SB_RULE_HOST,
                        sb_reason_rule};
    }
    if (strcmp(name, "host") == 0)
        return (wish_t){NULL, !shape->inside, "the host MPI was asked for"};
    return (wish_t){sb_algorithm_find(collective, name), false, "asked for by name"};
}

/* The shape as it is for these calls: rules may shape trees and rings by size. */
static sb_shape_t shape_for(sb_collective_t collective, const sb_shape_t *shape,
                            const sb_settings_t *settings, size_t bytes)
{
    const sb_rules_t *rules = settings->rules;
    sb_shape_t made = *shape;

    made.tree_arity =
        (uint32_t)sb_rules_value(rules, collective, SB_TUNE_ARITY, bytes, shape->tree_arity);
    if (collective == SB_BCAST)
        made.ring_bytes = (size_t)sb_rules_ring(rules, shape->ring_bytes);
    return made;
}

/* The rule that names an algorithm for just these bytes, or the host; NULL: none. */
static const sb_rule_t *rule_for(sb_collective_t collective, const sb_shape_t *shape,
                                 const sb_settings_t *settings, size_t bytes)
{
    const sb_rule_t *rule = sb_rule_find(settings->rules, collective, SB_TUNE_ALGORITHM, bytes);
    uint64_t word = rule == NULL ? SB_RULE_AUTO : rule->value[SB_TUNE_ALGORITHM];

    return word == SB_RULE_AUTO || (word == SB_RULE_HOST && shape->inside) ? NULL : rule;
}

/*
 * Whether host and Sobor may be tried against each other: of operations that only move data, as
 * the bits of a reduction must not depend on time, and never where a person has decided.
 */
static bool may_try(sb_collective_t collective, const sb_settings_t *settings,
                    const sb_rule_t *rule)
{
    if (collective == SB_BARRIER || collective >= SB_REDUCE)
        return false;
    if (rule != NULL)
        return rule->measured != 0 && settings->trials != SB_TRIALS_OFF;
    return strcmp(settings->algorithm[collective], "auto") == 0 && settings->trials == SB_TRIALS_ON;
}

/* The operation combines ranks in their order, whatever the operator. */
static bool keeps_order(sb_collective_t collective, const order_t *order)
{
    return order->ranks || collective == SB_SCAN || collective == SB_EXSCAN ||
           (collective >= SB_REDUCE && order->strict);
}

/* What is only expected has to be so much better to be taken instead of Sobor. */
#define HOST_WORTH 0.9

static bool host_is_cheaper(sb_collective_t collective, const sb_shape_t *shape, size_t bytes)
{
    const sb_over_nodes_t *over = shape->over_nodes;

    return over->host_cost(shape, collective, bytes) <
           HOST_WORTH * over->cost(shape, collective, bytes);
}

/* Of ranks on several nodes: there rules count inside the nodes alone. Prices give to the host only
 * what trials may take back. */
static sb_choice_t choose_over_nodes(sb_collective_t collective, const sb_shape_t *shape,
                                     const sb_settings_t *settings, const order_t *order,
                                     size_t bytes)
{
    const char *name = settings->algorithm[collective];
    const sb_algorithm_t *algorithm = shape->over_nodes->find(collective);
    const sb_algorithm_t *named = sb_algorithm_find(collective, name);
    bool moves = collective != SB_BARRIER && collective < SB_REDUCE;

    if (named != NULL && named->over_nodes)
        return (sb_choice_t){algorithm, "asked for by name", NULL, NULL};
    if (strcmp(name, "host") == 0)
        return (sb_choice_t){NULL, "the host MPI was asked for", NULL, NULL};
    if (keeps_order(collective, order) && shape->scattered)
        return (sb_choice_t){NULL, "the order of ranks", NULL, NULL};
    if (sb_too_many_for_parts(shape, collective))
        return (sb_choice_t){NULL, "too many ranks for parts between nodes", NULL, NULL};
    if (!moves || settings->trials == SB_TRIALS_OFF)
        return (sb_choice_t){algorithm, "the ranks are on several nodes", NULL, NULL};
    if (host_is_cheaper(collective, shape, bytes))
        return (sb_choice_t){NULL, "a flat algorithm of the host is expected to be faster", NULL,
                             algorithm};
    return (sb_choice_t){algorithm, "the ranks are on several nodes", NULL, algorithm};
}

sb_choice_t sb_choose(sb_collective_t collective, const sb_shape_t *team_shape,
                      const sb_settings_t *settings, size_t bytes, bool ordered)
{
    order_t order = {ordered, settings->reproducible == SB_REPRODUCIBLE_STRICT};
    const sb_rule_t *rule = rule_for(collective, team_shape, settings, bytes);
    wish_t wish = wish_of(collective, team_shape, settings, rule);
    size_t most = sb_class_bytes(sb_size_class(bytes));
    sb_shape_t shape = shape_for(collective, team_shape, settings, most);

    if (!(settings->collectives & (1u << collective)) && !shape.inside)
        return (sb_choice_t){NULL, "not in SOBOR_COLLECTIVES", NULL, NULL};
    if (shape.over_nodes != NULL)
        return choose_over_nodes(collective, &shape, settings, &order, most);
    sb_choice_t choice = cheapest(collective, &shape, most, &order);
    if (wish.algorithm != NULL && breaks_order(wish.algorithm, &order)) {
        choice.reason = order.strict ? "SOBOR_REPRODUCIBLE=strict" : "the operator's order";
        choice.refused = wish.algorithm;
    } else if (wish.algorithm != NULL && needs_groups(wish.algorithm, &shape)) {
        choice.reason = shape.ungrouped;
        choice.refused = wish.algorithm;
    } else if (wish.algorithm != NULL) {
        choice = (sb_choice_t){wish.algorithm, wish.reason, NULL, NULL};
    }
    choice.own = may_try(collective, settings, rule) ? choice.algorithm : NULL;
    if (wish.host)
        choice = (sb_choice_t){NULL, wish.reason, NULL, choice.own};
    return choice;
}

void sb_plan_start(sb_plan_table_t *table, const sb_shape_t *shape, const sb_settings_t *settings)
{
    const sb_rules_t *rules = settings->rules;

    memset(table, 0, sizeof *table);
    table->shape = *shape;
    table->settings = settings;
    for (uint32_t i = 0; rules != NULL && i < rules->count; i++) {
        if ((rules->rule[i].sets & (1u << SB_TUNE_ALGORITHM)) != 0)
            table->ruled |= 1u << rules->rule[i].collective;
    }
    if (table->ruled != 0)
        table->by_rule = calloc(2 * (size_t)rules->count, sizeof *table->by_rule);
}

void sb_plan_end(sb_plan_table_t *table)
{
    size_t by_rule = table->by_rule == NULL ? 0 : 2 * (size_t)table->settings->rules->count;

    for (size_t i = 0; i < SB_PLAN_ROWS; i++)
        free(table->row[i]);
    for (size_t i = 0; i < by_rule; i++)
        free(table->by_rule[i]);
    free(table->by_rule);
}

/* Where the choice is kept, made or not. */
static sb_planned_t *place_of(sb_plan_table_t *table, sb_collective_t collective, size_t bytes,
                              bool ordered, const sb_rule_t *rule)
{
    sb_planned_t **row =
        &table->row[ordered ? SB_COLLECTIVES + (collective - SB_REDUCE) : (size_t)collective];

    if (rule != NULL && table->by_rule == NULL)
        return &table->spare;
    if (rule != NULL)
        row = &table->by_rule[2 * (rule - table->settings->rules->rule) + ordered];
    if (*row == NULL)
        *row = calloc(SB_SIZE_CLASSES, sizeof **row);
    return *row == NULL ? &table->spare : &(*row)[sb_size_class(bytes)];
}

sb_planned_t *sb_plan_make(sb_plan_table_t *table, sb_collective_t collective, size_t bytes,
                           bool ordered)
{
    const sb_rule_t *rule = rule_for(collective, &table->shape, table->settings, bytes);
    sb_planned_t *planned = place_of(table, collective, bytes, ordered, rule);

    if (planned->made)
        return planned;
    sb_choice_t choice = sb_choose(collective, &table->shape, table->settings, bytes, ordered);
    uint32_t rest = table->settings->trial_rest;
    /* Where no count can be kept that is told at once. */
    uint32_t first = planned == &table->spare ? 1 : rest > 0 ? rest : SB_TRIAL_AFTER;
    *planned = (sb_planned_t){
        .algorithm = choice.algorithm,
        .made = planned != &table->spare,
        .until = choice.own == NULL ? 0 : first,
    };
    return planned;
}

static void group_shape(sb_shape_t *shape, const sb_hierarchy_t *hierarchy)
{
    shape->ungrouped = hierarchy->refusal;
    shape->stages = hierarchy->stages;
    for (uint32_t i = 0; i < hierarchy->stages; i++)
        shape->fan[i] = hierarchy->stage[i].largest;
    shape->apart =
        hierarchy->stages > 1 && hierarchy->stage[hierarchy->stages - 1].kind == SB_LEVEL_TOP;
}

sb_shape_t sb_team_shape(const sb_team_t *team)
{
    sb_shape_t shape = {
        .prices = &team->settings.prices,
        .processor = (sb_processor_t)team->settings.processor,
        .ranks = team->size,
        .oversubscribed = team->oversubscribed,
        .processors = team->processors,
        .tree_arity = team->settings.tree_arity,
        .barrier_arity = team->settings.barrier_arity,
        .ring_bytes = (size_t)team->settings.ring_bytes,
        .loads = team->settings.loads,
    };

    group_shape(&shape, team->hierarchies);
    return shape;
}

void sb_algorithm_names(sb_collective_t collective, char *names, size_t room)
{
    snprintf(names, room, "auto, host");
    for (size_t i = 0; i < sb_algorithm_count(); i++) {
        const sb_algorithm_t *algorithm = sb_algorithm_at(i);
        size_t length = strlen(names);
        if (algorithm->collective == collective && !algorithm->unlisted)
            snprintf(names + length, room - length, ", %s", algorithm->name);
    }
}

static void check_name(sb_collective_t collective, char *name)
{
    char known[512];

    if (strcmp(name, "auto") == 0 || strcmp(name, "host") == 0 ||
        sb_algorithm_find(collective, name) != NULL)
        return;
    sb_algorithm_names(collective, known, sizeof known);
    sb_log_once("%s: expected one of %s, found \"%s\"; using auto",
                sb_collective_variable(collective), known, name);
    strcpy(name, "auto");
}

void sb_settings_check(sb_settings_t *settings)
{
    for (sb_collective_t collective = 0; collective < SB_COLLECTIVES; collective++)
        check_name(collective, settings->algorithm[collective]);
}
