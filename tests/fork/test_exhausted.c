/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a team has no private memory left. */
#include "../unit/testing.h"

#include "job.h"

#include "select/select.h"
#include "select/tuning.h"
#include "team/hierarchy.h"
#include "tools/machines.h"

#include <stdlib.h>

enum { RANKS = 4 };

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

/* Hierarchies that this rank has memory for. */
static unsigned hierarchies_left = UINT32_MAX;

void *__wrap_calloc(size_t count, size_t bytes)
{
    size_t stages = 1;

    while (stages < SB_STAGES_MOST && bytes != sb_hierarchy_bytes(stages, RANKS))
        stages++;
    if (count == 1 && stages < SB_STAGES_MOST && hierarchies_left-- == 0) {
        hierarchies_left = 0;
        return NULL;
    }
    return __real_calloc(count, bytes);
}

/* What the ranks are to find: `short_of` has memory for so many hierarchies. */
typedef struct expectation {
    const sb_topology_t *topology;
    const char *algorithm; /* of the rule */
    uint32_t short_of;     /* this rank; RANKS: none */
    unsigned left;
    const char *reason; /* of the choice that follows */
} expectation_t;

/* Barriers by a rule, on two NUMA nodes of two ranks each. */
static int meet(rank_context_t *context, void *argument)
{
    const expectation_t *expected = argument;
    sb_rules_t rules = {.count = 1,
                        .rule = {{.number = 1,
                                  .collective = SB_BARRIER,
                                  .sets = 1u << SB_TUNE_ALGORITHM,
                                  .oversubscribed = -1,
                                  .ranks_to = UINT64_MAX,
                                  .bytes_to = UINT64_MAX}}};
    sb_place_t place = {.allowed_cpus = 16};

    sb_cpus_add(place.cpus, context->rank % 2 + 8 * (context->rank / 2));
    context->front.topology = expected->topology;
    context->front.place = &place;
    context->front.rules = &rules;
    if (!sb_tuning_algorithm(&rules.rule[0], expected->algorithm))
        return 1;
    if (context->rank == expected->short_of)
        hierarchies_left = expected->left;
    sb_team_t *team = job_team(context);
    if (team == NULL)
        return 1;
    sb_shape_t shape = sb_team_shape(team);
    sb_choice_t choice = sb_choose(SB_BARRIER, &shape, &team->settings, 0, false);
    int failures = strcmp(choice.reason, expected->reason) != 0;
    for (int i = 0; i < 100 && failures == 0; i++)
        failures += choice.algorithm->barrier(team) != SB_OK;
    sb_team_destroy(team);
    return failures;
}

static void no_rank_goes_by_levels_that_one_cannot_group_by(void **state)
{
    char error[512];
    sb_topology_t *machine =
        sb_topology_open("package:2 numa:2 l3:2 core:2 pu:1", error, sizeof error);
    /* Two hierarchies are made for every team. */
    const expectation_t cases[] = {
        {machine, "hierarchical-numa", RANKS, 0, sb_reason_rule},
        {machine, "hierarchical-numa", 2, 3, sb_reason_rule},
        {machine, "hierarchical-numa", 2, 2, "least expected time"},
        {machine, "hierarchical-auto", 2, 2, sb_reason_rule},
    };

    (void)state;
    assert_non_null(machine);
    for (size_t i = 0; i < SB_COUNT_OF(cases); i++)
        assert_int_equal(job_run(RANKS, 20, meet, (void *)(uintptr_t)&cases[i]), 0);
    sb_topology_close(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_rank_goes_by_levels_that_one_cannot_group_by),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
