/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan.h"

#include "../long_form.h"
#include "../random.h"

#include "select/select.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct plan {
    const program_t *program;
    const sb_algorithm_t *algorithm; /* NULL: drawn anew for each call */
    int calls;
    size_t most;
} plan_t;

uint64_t program_own(const program_t *program, uint32_t rank)
{
    return program->seed * 1000003u + rank;
}

static const sb_algorithm_t *pick(const plan_t *plan, uint64_t *common)
{
    const sb_algorithm_t *picked = plan->algorithm;

    while (picked == NULL || (plan->algorithm == NULL && !plan->program->mixes(picked)))
        picked = sb_algorithm_at(draw(common, (uint32_t)sb_algorithm_count()));
    return picked;
}

static void tell(const plan_t *plan, uint32_t ranks, int failures)
{
    const sb_algorithm_t *one = plan->algorithm;

    printf("%-20s %-24s %2u ranks, %5d calls: %s\n",
           one == NULL ? "mixed" : sb_collective_name(one->collective),
           one == NULL ? "drawn" : one->name, ranks, plan->calls, failures == 0 ? "ok" : "FAILED");
    if (failures > 0)
        printf("replay with: %s %u\n", plan->program->name, plan->program->seed);
}

static int run_plan(rank_context_t *context, void *argument)
{
    const plan_t *plan = argument;
    uint64_t common = plan->program->seed, own = program_own(plan->program, context->rank);
    sb_team_t *team = job_team(context);
    int failures = team == NULL;

    for (int i = 0; i < plan->calls && failures == 0; i++) {
        const sb_algorithm_t *algorithm = pick(plan, &common);
        /* Now and then a rank comes late, each in its own way. */
        if (draw(&own, 50) == 0)
            usleep(draw(&own, 300));
        if (algorithm->collective == SB_BARRIER)
            failures += sb_algorithm_prepare(algorithm, team, 0) != SB_OK ||
                        algorithm->barrier(team) != SB_OK;
        else
            failures += plan->program->call(context, team, algorithm, (uint64_t)i, plan->most,
                                            &common, &own);
    }
    if (failures > 0 || context->rank == 0)
        tell(plan, context->size, failures);
    job_synchronise(context);
    if (team != NULL)
        sb_team_destroy(team);
    return failures;
}

int program_run(const program_t *program, uint32_t ranks, const char *only)
{
    plan_t plans[sb_algorithm_count() + 1];
    size_t count = 0;

    for (size_t i = 0; i < sb_algorithm_count(); i++) {
        const sb_algorithm_t *algorithm = sb_algorithm_at(i);
        if (program->is_about(algorithm) && (only == NULL || strcmp(only, algorithm->name) == 0))
            plans[count++] = (plan_t){.program = program,
                                      .algorithm = algorithm,
                                      .calls = calls_of(program->calls),
                                      .most = program->most};
    }
    if (only == NULL)
        plans[count++] = (plan_t){.program = program,
                                  .calls = calls_of(program->mixed_calls),
                                  .most = program->mixed_most};
    return job_run_all(ranks, 60, run_plan, plans, sizeof plans[0], count);
}
