/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All broadcasts over forked processes: every root, 1 to 17 ranks, sizes around each threshold, in
 * groups of every form, and ranks that expect another size, whatever they chose for it.
 */
#include "../long_form.h"
#include "../unit/testing.h"

#include "job.h"

#include "baseline/baseline.h"
#include "coll/bcast/bcast.h"
#include "coll/bcast/rings.h"
#include "select/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAGMENT 1000
#define RING 16384 /* the least that a team asks for */

/* One run: an algorithm, with groups of at most so many ranks. */
typedef struct variant {
    const sb_algorithm_t *algorithm;
    const char *group;
} variant_t;

/* Around the flag's line, the slot, all slots, the fragment, a quarter of the ring and the ring. */
static size_t thresholds(size_t *sizes)
{
    static const size_t edges[] = {
        SB_SLOT_IN_LINE, SB_SLOT_PAYLOAD, FRAGMENT, RING / 4, SB_SLOTS * SB_SLOT_PAYLOAD, RING,
    };

    return job_sizes(edges, SB_COUNT_OF(edges), 3 * RING + FRAGMENT + 1, sizes);
}

static sb_team_t *make_team(rank_context_t *context, const variant_t *variant)
{
    setenv("SOBOR_BARRIER_ARITY", variant->group, 1);
    setenv("SOBOR_RING", "16KiB", 1);
    setenv("SOBOR_FRAGMENT", "1000", 1);
    setenv("SOBOR_TREE_ARITY", "2", 1);
    /* Few messages of each size: the way that would be measured is given, and both have their turn.
     */
    setenv("SOBOR_STORES", context->size % 2 == 0 ? "streaming" : "cached", 1);
    return job_team(context);
}

static int run_variant(rank_context_t *context, void *argument)
{
    const variant_t *variant = argument;
    size_t sizes[32], count = thresholds(sizes);
    sb_team_t *team = make_team(context, variant);

    for (uint32_t root = 0; team != NULL && root < team->size; root++) {
        for (size_t i = 0; i < count; i++) {
            if (job_bcast(team, variant->algorithm, root, sizes[i]) != 0) {
                fprintf(stderr, "groups of %s\n", variant->group);
                return 1;
            }
        }
    }
    if (team == NULL)
        return 1;
    sb_team_destroy(team);
    return 0;
}

/* A source of which only so many bytes can be had: what else there is, and why there is no more. */
typedef struct spring {
    size_t holds;
    sb_status_t then;
} spring_t;

static sb_status_t read_spring(void *context, size_t offset, void *to, size_t bytes)
{
    const spring_t *spring = context;

    if (offset + bytes > spring->holds)
        return spring->then;
    memset(to, 7, bytes);
    return SB_OK;
}

/*
 * The root's source ends. If nothing can follow, nobody takes for the message what was never there;
 * if its own data is wrong, the others are served, and the next message is right.
 */
static int lose_the_source(rank_context_t *context, void *argument)
{
    static const size_t sizes[] = {20, 500, 5000, 60000};
    const sb_algorithm_t *algorithm = ((const variant_t *)argument)->algorithm;
    sb_team_t *team = make_team(context, argument);
    int failures = team == NULL;

    for (size_t i = 0; i < SB_COUNT_OF(sizes) && failures == 0; i++) {
        spring_t spring = {.holds = sizes[i] / 2, .then = SB_ERR_DATA};
        char *data = job_memory(sizes[i]);
        sb_stream_t stream = {.base = data, .bytes = sizes[i]};
        if (team->rank == 0)
            stream = (sb_stream_t){.bytes = sizes[i], .read = read_spring, .context = &spring};
        failures += sb_algorithm_prepare(algorithm, team, sizes[i]) != SB_OK;
        sb_status_t status = algorithm->bcast(team, 0, &stream);
        failures += status != (team->rank == 0 ? SB_ERR_DATA : SB_OK);
        failures += job_bcast(team, algorithm, 1, sizes[i]);
        free(data);
    }
    if (failures > 0)
        fprintf(stderr, "%s: rank %u: own data\n", algorithm->name, context->rank);
    if (team != NULL)
        sb_team_destroy(team);
    return failures;
}

static int lose_the_network(rank_context_t *context, void *argument)
{
    const sb_algorithm_t *algorithm = ((const variant_t *)argument)->algorithm;
    size_t bytes = strtoul(((const variant_t *)argument)->group, NULL, 10);
    spring_t spring = {.holds = bytes / 2, .then = SB_ERR_NETWORK};
    char *data = job_memory(bytes);
    sb_stream_t stream = {.base = data, .bytes = bytes};

    setenv("SOBOR_LIVENESS", "50", 1);
    sb_team_t *team = make_team(context, &(variant_t){algorithm, "2"});
    if (team == NULL || sb_algorithm_prepare(algorithm, team, bytes) != SB_OK)
        return 1;
    if (team->rank == 0)
        stream = (sb_stream_t){.bytes = bytes, .read = read_spring, .context = &spring};
    sb_status_t status = algorithm->bcast(team, 0, &stream);
    bool right = status == (team->rank == 0 ? SB_ERR_NETWORK : SB_ERR_PEER_DEAD);
    if (!right)
        fprintf(stderr, "%s: rank %u, %zu bytes: %s\n", algorithm->name, context->rank, bytes,
                sb_status_string(status));
    _exit(!right);
}

/* The library's own algorithms come before those that it is compared with. */
static size_t own_algorithms;

/* All broadcasts in groups of at most so many ranks. Returns how many. */
static size_t all_broadcasts(variant_t *variants, const char *group)
{
    size_t count = 0;

    for (size_t i = 0; i < sb_algorithm_count(); i++) {
        if (sb_algorithm_at(i)->collective == SB_BCAST)
            variants[count++] = (variant_t){sb_algorithm_at(i), group};
    }
    return count;
}

static void a_source_that_ends(void **state)
{
    static const char *const sizes[] = {"20", "500", "5000", "60000"};
    variant_t variants[sb_algorithm_count()];
    size_t count = all_broadcasts(variants, "2");

    (void)state;
    assert_int_equal(job_run_all(3, 20, lose_the_source, variants, sizeof variants[0], count), 0);
    for (size_t i = 0; i < own_algorithms; i++) {
        const sb_algorithm_t *algorithm = sb_algorithm_at(i);
        for (size_t k = 0; k < SB_COUNT_OF(sizes) && algorithm->collective == SB_BCAST; k++) {
            variant_t variant = {algorithm, sizes[k]};
            assert_int_equal(job_run(3, 20, lose_the_network, &variant), 0);
        }
    }
}

/* Groups of other sizes are for the one algorithm that makes some. */
static void every_root_and_threshold(void **state)
{
    static const char *const groups[] = {"2", "3"};
    variant_t variants[sb_algorithm_count()];
    size_t count = all_broadcasts(variants, "10");

    (void)state;
    for (uint32_t ranks = 1; ranks <= 17; ranks = next_ranks(ranks)) {
        assert_int_equal(job_run_all(ranks, 60, run_variant, variants, sizeof variants[0], count),
                         0);
        for (size_t g = 0; g < SB_COUNT_OF(groups); g++) {
            variant_t grouped = {sb_algorithm_find(SB_BCAST, "numa-relay"), groups[g]};
            assert_int_equal(job_run(ranks, 60, run_variant, &grouped), 0);
        }
    }
}

/* The algorithms that ranks choose for the sizes that they expect. */
typedef struct pairing {
    const sb_algorithm_t *root;
    const sb_algorithm_t *other;
    bool prepared; /* all have all that both need; else the root's announcement has them make it */
} pairing_t;

static const size_t expected_sizes[] = {1, 200, 240, 241, 3000, 70000};

/* One rank expects another size; then all agree again. */
static int disagree(sb_team_t *team, const pairing_t *pairing, size_t sent, size_t expected)
{
    static unsigned char data[70002];
    bool wrong = team->rank == team->size - 1;
    size_t bytes = wrong ? expected : sent, least = sb_min(sent, expected);
    const sb_algorithm_t *algorithm = wrong ? pairing->other : pairing->root;
    sb_stream_t stream = {.base = (char *)data, .bytes = bytes};
    sb_status_t outcome = !wrong || sent == expected ? SB_OK
                          : sent > expected          ? SB_ERR_TRUNCATE
                                                     : SB_ERR_SHORT;

    memset(data, team->rank == 0 ? 7 : 0, sizeof data);
    int failures = sb_bcast(algorithm, team, 0, &stream) != outcome;
    failures += data[0] != 7 || data[least - 1] != 7 || (wrong && data[least] != 0);
    if (failures > 0)
        fprintf(stderr, "rank %u: %s sends %zu, %s expects %zu\n", team->rank, pairing->root->name,
                sent, pairing->other->name, expected);
    return failures;
}

/* In all pairs of sizes; a team without any memory for each where nothing is prepared. */
static int run_disagreement(rank_context_t *context, void *argument)
{
    const pairing_t *pairing = argument;
    size_t count = SB_COUNT_OF(expected_sizes);
    sb_team_t *team = NULL;
    int failures = 0;

    for (size_t i = 0; failures == 0 && i < count * count; i++) {
        if (team != NULL && !pairing->prepared) {
            sb_team_destroy(team);
            team = NULL;
        }
        team = team != NULL ? team : make_team(context, &(variant_t){NULL, "3"});
        if (team == NULL)
            return 1;
        if (pairing->prepared)
            failures += sb_algorithm_prepare(pairing->root, team, SIZE_MAX) != SB_OK ||
                        sb_algorithm_prepare(pairing->other, team, SIZE_MAX) != SB_OK;
        failures += disagree(team, pairing, expected_sizes[i / count], expected_sizes[i % count]);
        failures += failures > 0 || job_bcast(team, pairing->root, 1, 5000) != 0;
    }
    if (team != NULL)
        sb_team_destroy(team);
    return failures;
}

static void disagreement_is_told(void **state)
{
    variant_t variants[sb_algorithm_count()];
    size_t count = all_broadcasts(variants, NULL), pairs = 0;
    pairing_t pairings[2 * count * count];

    (void)state;
    for (size_t i = 0; i < count * count; i++) {
        const sb_algorithm_t *root = variants[i / count].algorithm;
        const sb_algorithm_t *other = variants[i % count].algorithm;
        pairings[pairs++] = (pairing_t){root, other, true};
        pairings[pairs++] = (pairing_t){root, other, false};
    }
    for (uint32_t ranks = 2; ranks <= 6; ranks += 4)
        assert_int_equal(
            job_run_all(ranks, 60, run_disagreement, pairings, sizeof pairings[0], pairs), 0);
}

/* Where there is no memory for what the root chose, all go to the host. */
static int run_refusal(rank_context_t *context, void *argument)
{
    const sb_algorithm_t *algorithms[] = {((const variant_t *)argument)->algorithm,
                                          &sb_bcast_slots};
    int failures = 0;
    char data[5000] = {0};
    sb_stream_t stream = {.base = data, .bytes = context->rank == 1 ? 8 : sizeof data};

    if (context->rank == 2)
        setenv("SOBOR_MEMORY", job_little_memory(context->size), 1);
    sb_team_t *team = job_team(context);
    for (int i = 0; team != NULL && i < 20; i++) {
        if (sb_bcast(algorithms[context->rank == 1], team, 0, &stream) != SB_ERR_UNSUPPORTED)
            return 1;
    }
    failures += team == NULL || job_bcast(team, &sb_bcast_slots, 2, 500) != 0;
    if (team != NULL)
        sb_team_destroy(team);
    return failures;
}

static void what_cannot_be_had_is_for_the_host(void **state)
{
    variant_t variants[sb_algorithm_count()];
    size_t count = all_broadcasts(variants, NULL), needy = 0;

    (void)state;
    for (size_t i = 0; i < count; i++) {
        if (variants[i].algorithm->prepare != NULL)
            variants[needy++] = variants[i];
    }
    assert_int_equal(job_run_all(3, 20, run_refusal, variants, sizeof variants[0], needy), 0);
}

/* A plan that makes no sense is not followed out of the ring. */
static int run_bad_plan(rank_context_t *context, void *argument)
{
    const sb_plan_t *wrong = argument;
    char data[5000] = {0};
    sb_stream_t stream = {.base = data, .bytes = sizeof data};
    sb_team_t *team = job_team(context);

    if (team == NULL || sb_rings_prepare(team) != SB_OK)
        return 1;
    if (context->rank == 1)
        return sb_bcast(&sb_bcast_ring, team, 0, &stream) != SB_ERR_TRUNCATE ||
               team->failure != SB_ERR_TRUNCATE;
    sb_slot_show(team, sb_plan_spread(wrong) == UINT16_MAX ? SB_NOTE_KIND : SB_NOTE_RING, wrong,
                 sizeof *wrong);
    return 0;
}

static void a_plan_is_checked(void **state)
{
    static const sb_plan_t plans[] = {
        {.bytes = 5000, .fragment = 1024, .window = (uint64_t)1 << 40},
        {.bytes = 5000, .fragment = 1024, .window = 0},
        {.bytes = 5000, .fragment = 0, .window = 4096},
        {.bytes = 5000, .fragment = 1024, .window = 4096, .position = (uint64_t)1 << 40},
        {.bytes = 5000, .fragment = 1024, .window = 4096, .how = SB_SPREADS},
        {.how = UINT16_MAX},
    };

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(plans); i++)
        assert_int_equal(job_run(2, 20, run_bad_plan, (void *)(uintptr_t)&plans[i]), 0);
}

/* A root goes on for as many short messages as it has slots, before anybody else comes. */
static int run_ahead(rank_context_t *context, void *argument)
{
    char data[8] = {0};
    const sb_stream_t stream = {.base = data, .bytes = sizeof data};
    sb_team_t *team = job_team(context);

    (void)argument;
    if (team == NULL || team->slots != (team->oversubscribed ? SB_SLOTS_CROWDED : SB_SLOTS))
        return 1;
    if (context->rank != 0)
        job_synchronise(context);
    for (uint32_t i = 0; i < team->slots; i++) {
        if (sb_bcast(&sb_bcast_slots, team, 0, &stream) != SB_OK)
            return 1;
    }
    if (context->rank == 0)
        job_synchronise(context);
    return 0;
}

static void a_root_runs_ahead(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, 20, run_ahead, NULL), 0);
    assert_int_equal(job_run(5, 20, run_ahead, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_root_and_threshold),
        cmocka_unit_test(disagreement_is_told),
        cmocka_unit_test(a_source_that_ends),
        cmocka_unit_test(what_cannot_be_had_is_for_the_host),
        cmocka_unit_test(a_plan_is_checked),
        cmocka_unit_test(a_root_runs_ahead),
    };

    own_algorithms = sb_algorithm_count();
    sb_baselines_add();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
