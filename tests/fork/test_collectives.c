/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every algorithm of every collective over forked processes. The seed is printed when a run fails;
 * usage: fork_collectives [SEED].
 */
#include "../long_form.h"
#include "../random.h"
#include "job.h"

#include "baseline/baseline.h"
#include "select/select.h"
#include "tools/machines.h"
#include "tools/mapping.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned seed = 1;

/* Now and then a rank comes late, each in its own way. */
static void dawdle(uint64_t *own)
{
    if (draw(own, 50) == 0)
        usleep(draw(own, 300));
}

static uint64_t number_of(uint32_t root, uint64_t call)
{
    return root * 7 + call * 13 + 1;
}

typedef struct plan {
    char what[64];
    const sb_algorithm_t *algorithm; /* NULL: drawn anew for each call */
    int calls;
    const sb_topology_t *topology; /* a machine that the ranks take for theirs, or NULL */
    const sb_place_t *places;      /* of the ranks on it */
    unsigned char *counts;         /* shared: calls entered by each rank, for the barriers */
} plan_t;

static const sb_algorithm_t *pick(const plan_t *plan, sb_collective_t collective, uint64_t *state)
{
    if (plan->algorithm != NULL && plan->algorithm->collective == collective)
        return plan->algorithm;
    for (;;) {
        const sb_algorithm_t *drawn = sb_algorithm_at(draw(state, (uint32_t)sb_algorithm_count()));
        if (drawn->collective == collective)
            return drawn;
    }
}

static uint64_t *entered(const plan_t *plan, uint32_t rank)
{
    return (uint64_t *)(void *)(plan->counts + rank * 128);
}

/* Nobody leaves a barrier before everybody has come. */
static int check_barrier(sb_team_t *team, const plan_t *plan, const sb_algorithm_t *algorithm)
{
    uint64_t mine = ++*entered(plan, team->rank);

    if (sb_algorithm_prepare(algorithm, team, 0) != SB_OK || algorithm->barrier(team) != SB_OK)
        return 1;
    for (uint32_t rank = 0; rank < team->size; rank++) {
        uint64_t theirs = __atomic_load_n(entered(plan, rank), __ATOMIC_RELAXED);
        if (theirs < mine || theirs > mine + 1) {
            fprintf(stderr, "%s: rank %u left barrier %lu, rank %u is at %lu\n", algorithm->name,
                    team->rank, (unsigned long)mine, rank, (unsigned long)theirs);
            return 1;
        }
    }
    return 0;
}

static int check_bytes(const unsigned char *bytes, size_t step, size_t count, uint32_t root,
                       uint64_t call)
{
    size_t wrong = job_mismatch(bytes, step, count, number_of(root, call));

    if (wrong < count)
        fprintf(stderr, "byte %zu of %zu is wrong\n", wrong, count);
    return wrong < count;
}

static int check_bcast(sb_team_t *team, const sb_algorithm_t *algorithm, uint32_t root,
                       size_t bytes, bool is_sparse, uint64_t call)
{
    size_t step = is_sparse ? 2 : 1;
    unsigned char *data = job_memory(bytes * step + 1);
    sb_stream_t stream = job_stream(data, step, bytes);

    memset(data, 0xee, bytes * step + 1);
    if (team->rank == root)
        job_fill(data, step, bytes, number_of(root, call));
    if (sb_algorithm_prepare(algorithm, team, bytes) != SB_OK)
        return 1;
    sb_status_t status = algorithm->bcast(team, root, &stream);
    int failed = status != SB_OK || check_bytes(data, step, bytes, root, call) ||
                 data[bytes * step] != 0xee || (is_sparse && bytes > 0 && data[1] != 0xee);
    if (failed)
        fprintf(stderr, "%s: rank %u of %u, root %u, %zu bytes, call %lu: %s\n", algorithm->name,
                team->rank, team->size, root, bytes, (unsigned long)call, sb_status_string(status));
    free(data);
    return failed;
}

static size_t draw_bytes(uint64_t *state)
{
    static const size_t corners[] = {1,    8,    47,    48,    49,    239,    240,   241,
                                     4096, 8191, 16383, 16384, 16385, 100003, 300000};

    if (draw(state, 3) == 0)
        return corners[draw(state, (uint32_t)SB_COUNT_OF(corners))];
    return 1 + draw(state, 1u << draw(state, 18));
}

static void tell(const plan_t *plan, uint32_t ranks, int failures)
{
    printf("%-60s %2u ranks, %5d calls: %s\n", plan->what, ranks, plan->calls,
           failures == 0 ? "ok" : "FAILED");
    if (failures > 0)
        printf("replay with: fork_collectives %u\n", seed);
}

static int run_plan(rank_context_t *context, void *argument)
{
    const plan_t *plan = argument;
    uint64_t common = seed, own = seed * 1000003u + context->rank;

    context->front.topology = plan->topology;
    context->front.place = plan->places == NULL ? NULL : &plan->places[context->rank];
    *entered(plan, context->rank) = 0;
    sb_team_t *team = job_team(context);
    int failures = team == NULL;

    for (int call = 0; call < plan->calls && failures == 0; call++) {
        bool barrier = plan->algorithm == NULL ? draw(&common, 4) == 0
                                               : plan->algorithm->collective == SB_BARRIER;
        dawdle(&own);
        if (barrier) {
            failures += check_barrier(team, plan, pick(plan, SB_BARRIER, &common));
            continue;
        }
        uint32_t root = draw(&common, context->size);
        size_t bytes = draw_bytes(&common);
        failures += check_bcast(team, pick(plan, SB_BCAST, &common), root, bytes,
                                draw(&own, 4) == 0, (uint64_t)call);
    }
    if (failures > 0 || context->rank == 0)
        tell(plan, context->size, failures);
    job_synchronise(context);
    if (team != NULL)
        sb_team_destroy(team);
    return failures;
}

static int run(uint32_t ranks, plan_t *plans, size_t count)
{
    size_t bytes = (size_t)ranks * 128;
    unsigned char *counts =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    for (size_t i = 0; i < count; i++)
        plans[i].counts = counts;
    int failures = job_run_all(ranks, 100, run_plan, plans, sizeof *plans, count);
    munmap(counts, bytes);
    return failures;
}

/*
 * The hierarchical barriers, and all barriers in turn, over ranks that take themselves to be bound
 * to the cores of another machine. They sleep: in truth they share the processors of this one.
 */
static int run_on(const char *machine, sb_mapping_t mapping, uint32_t ranks)
{
    char error[512];
    sb_place_t places[ranks];
    plan_t plans[sb_algorithm_count() + 1];
    size_t count = 0;
    sb_topology_t *topology = sb_topology_open(machine, error, sizeof error);

    if (topology == NULL || sb_places_map(places, ranks, topology, mapping) != SB_OK) {
        fprintf(stderr, "%s: %s\n", machine, topology == NULL ? error : "no places");
        return 1;
    }
    for (size_t i = 0; i < sb_algorithm_count(); i++) {
        plan_t plan = {.algorithm = sb_algorithm_at(i), .calls = calls_of(200)};
        snprintf(plan.what, sizeof plan.what, "%s on %s", plan.algorithm->name, machine);
        if (plan.algorithm->levels != 0)
            plans[count++] = plan;
    }
    plans[count++] = (plan_t){.what = "all algorithms, drawn", .calls = calls_of(1000)};
    for (size_t i = 0; i < count; i++) {
        plans[i].topology = topology;
        plans[i].places = places;
    }
    int failures = run(ranks, plans, count);
    sb_topology_close(topology);
    return failures;
}

static int run_on_machines(void)
{
    static const char four_nodes[] = "package:2 numa:2 core:4 pu:1";
    static const char caches[] = "package:2 numa:1 l3:2 l2:2 core:2 pu:1";
    int failures = 0;

    setenv("SOBOR_WAIT", "sleep", 1);
    failures += run_on(four_nodes, SB_MAP_CORE, 7);
    failures += run_on(four_nodes, SB_MAP_NUMA, 9);
    failures += run_on(four_nodes, SB_MAP_SOCKET, 5);
    failures += run_on(four_nodes, SB_MAP_NONE, 4);
    failures += run_on(caches, SB_MAP_CORE, 16);
    unsetenv("SOBOR_WAIT");
    return failures;
}

/* The combining tree with other numbers of children. */
static int run_arities(void)
{
    static const char *const arities[] = {"3", "4", "16"};
    int failures = 0;

    for (size_t i = 0; i < SB_COUNT_OF(arities); i++) {
        setenv("SOBOR_BARRIER_ARITY", arities[i], 1);
        for (uint32_t ranks = 2; ranks <= 9; ranks++) {
            plan_t plan = {.what = "combining-tree, other arity",
                           .algorithm = sb_algorithm_find(SB_BARRIER, "combining-tree"),
                           .calls = calls_of(200)};
            failures += run(ranks, &plan, 1);
        }
    }
    unsetenv("SOBOR_BARRIER_ARITY");
    return failures;
}

static int run_all(uint32_t ranks)
{
    plan_t plans[sb_algorithm_count() + 1];
    size_t count = 0;

    for (size_t i = 0; i < sb_algorithm_count(); i++) {
        plan_t plan = {.algorithm = sb_algorithm_at(i), .calls = calls_of(400)};
        snprintf(plan.what, sizeof plan.what, "%s", plan.algorithm->name);
        /* test_parts.c and test_reductions.c have the others */
        if (plan.algorithm->parts == NULL && plan.algorithm->reduction == NULL)
            plans[count++] = plan;
    }
    plans[count++] = (plan_t){.what = "all algorithms, drawn", .calls = calls_of(1000)};
    return run(ranks, plans, count);
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {2, 3, 5, 8};
    static const char *const rings[] = {"16KiB", "512KiB"};
    int failures = 0;

    sb_baselines_add();
    setvbuf(stdout, NULL, _IOLBF, 0);
    seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    for (size_t r = 0; r < SB_COUNT_OF(rings); r++) {
        setenv("SOBOR_RING", rings[r], 1);
        if (r > 0)
            setenv("SOBOR_WAIT", "sleep", 1);
        for (size_t s = 0; s < SB_COUNT_OF(sizes); s++)
            failures += run_all(sizes[s]);
    }
    unsetenv("SOBOR_WAIT");
    failures += run_arities();
    failures += run_on_machines();
    return failures == 0 ? 0 : 1;
}
