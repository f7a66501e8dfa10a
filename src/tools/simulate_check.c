/* SPDX-License-Identifier: BSD-3-Clause */
/* What sobor-simulate does with --check: many schedules, or one run by the clock that is watched.
 */
#include "tools/simulate_check.h"

#include "tools/simulate_answer.h"
#include "tools/simulate_explore.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 8192

static json_t *violation_list(const char *text, const char *replay)
{
    json_t *list = json_array();

    if (text != NULL && replay != NULL)
        json_array_append_new(list, json_pack("{s:s,s:s}", "text", text, "replay", replay));
    else if (text != NULL)
        json_array_append_new(list, json_pack("{s:s}", "text", text));
    return list;
}

/* The report, with the line that replays it. */
static json_t *violations_of(const sb_finding_t *finding)
{
    if (finding->violation == NULL)
        return violation_list(NULL, NULL);
    size_t size = strlen(finding->violation) + strlen(finding->replay) + 32;
    char *text = sb_tool_take(1, size);
    snprintf(text, size, "%s  replay: --replay %s", finding->violation, finding->replay);
    json_t *list = violation_list(text, finding->replay);
    free(text);
    return list;
}

static json_t *explore(const sb_simulate_t *options, const sb_exploration_t *exploration,
                       json_t *result)
{
    const char *problem;
    sb_finding_t finding;

    if (!sb_exploration_run(exploration, &finding, &problem))
        sb_tool_fail("%s: %s", options->explore.mode == SB_EXPLORE_REPLAY ? "--replay" : "--mode",
                     problem);
    json_object_set_new(result, "schedules", json_integer((json_int_t)finding.schedules));
    json_object_set_new(result, "steps", json_integer((json_int_t)finding.steps));
    json_object_set_new(result, "complete", json_boolean(finding.complete));
    json_object_set_new(result, "violations", violations_of(&finding));
    sb_finding_free(&finding);
    return result;
}

json_t *sb_simulate_explore(const sb_simulate_t *options, const sb_simulated_t *machine,
                            const sb_algorithm_t *algorithm, size_t bytes)
{
    sb_place_t *places = sb_tool_take(options->ranks, sizeof *places);
    uint32_t *nodes = sb_tool_take(options->ranks, sizeof *nodes);
    uint32_t *cores = sb_tool_take(options->ranks, sizeof *cores);

    sb_simulate_place(options, machine, places, nodes, cores);
    sb_exploration_ground_t ground = {&machine->model, cores, places, machine->topology, NULL};
    sb_exploration_t exploration = {
        .ranks = options->ranks,
        .ground = &ground,
        .algorithms = &algorithm,
        .algorithm_count = 1,
        .bytes = &bytes,
        .byte_count = bytes > 0,
        .calls = options->calls,
        .first_root = options->root,
        .roots = options->rotate ? options->ranks : 1,
        .explore = options->explore,
    };
    exploration.explore.seed = options->seed;
    json_t *result =
        explore(options, &exploration, sb_simulate_describe(options, machine, algorithm, bytes));
    free(places);
    free(nodes);
    free(cores);
    return result;
}

sb_join_t *sb_simulate_watch(uint32_t ranks)
{
    const char *problem;
    sb_join_t *join = sb_join_new(ranks, NULL, &problem);

    if (join == NULL)
        sb_tool_fail("%s", problem);
    sb_join_begin(join);
    return join;
}

void sb_simulate_watched(json_t *result, const sb_join_t *join, const char *problem)
{
    char text[TEXT_BYTES];

    if (sb_join_violation(join)->kind != SB_VIOLATION_NONE)
        problem = sb_violation_text(sb_join_violation(join), NULL, text, sizeof text);
    json_object_set_new(result, "schedules", json_integer(1));
    json_object_set_new(result, "violations", violation_list(problem, NULL));
}
