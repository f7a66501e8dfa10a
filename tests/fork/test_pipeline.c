/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NUMA-placed pipelined broadcast over forked processes: every root, tree and size around each
 * threshold.
 */
#include "../long_form.h"
#include "../unit/testing.h"

#include "job.h"

#include "baseline/baseline.h"
#include "baseline/pipeline.h"
#include "coll/bcast/rings.h"
#include "select/select.h"
#include "select/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* One shape of the pipeline, as the user's variables say it. */
typedef struct variant {
    const char *tree;
    const char *arity;
    const char *fragment;
    const char *slots;
    const char *sets;
} variant_t;

static const sb_algorithm_t *pipelined(void)
{
    return sb_algorithm_find(SB_BCAST, "numa-pipelined");
}

static void set_variant(const variant_t *variant)
{
    setenv("SOBOR_BCAST_TREE", variant->tree, 1);
    setenv("SOBOR_TREE_ARITY", variant->arity, 1);
    setenv("SOBOR_FRAGMENT", variant->fragment, 1);
    setenv("SOBOR_BCAST_SLOTS", variant->slots, 1);
    setenv("SOBOR_BCAST_SETS", variant->sets, 1);
}

/* The sizes around fragment, set and ring, and a message of several rings. */
static size_t thresholds(const sb_pipeline_t *pipeline, size_t *sizes)
{
    size_t fragment = pipeline->fragment, set = fragment * pipeline->ring.per_set;
    size_t edges[] = {fragment, set, set * pipeline->ring.count};

    return job_sizes(edges, SB_COUNT_OF(edges), 3 * set * pipeline->ring.count + fragment + 1,
                     sizes);
}

static int run_variant(rank_context_t *context, void *argument)
{
    size_t sizes[16];

    set_variant(argument);
    sb_team_t *team = job_team(context);
    if (team == NULL || sb_pipeline_prepare(team) != SB_OK)
        return 1;
    size_t count = thresholds(sb_pipeline(team), sizes);
    for (uint32_t root = 0; root < team->size; root++) {
        for (size_t i = 0; i < count; i++) {
            if (job_bcast(team, pipelined(), root, sizes[i]) != 0)
                return 1;
        }
    }
    sb_team_destroy(team);
    return 0;
}

static const variant_t variants[] = {
    {"auto", "4", "auto", "auto", "auto"},  {"flat", "4", "100", "6", "3"},
    {"chain", "4", "64", "8", "2"},         {"kary", "2", "1000", "4", "1"},
    {"kary", "3", "8192", "1", "4"},        {"knomial", "2", "100", "7", "2"},
    {"knomial", "4", "300", "16", "4"},     {"knomial", "1", "1", "5", "5"},
    {"kary", "1000000", "4096", "2", "99"},
};

static void every_root_tree_and_threshold(void **state)
{
    (void)state;
    setenv("SOBOR_RING", "64KiB", 1);
    for (size_t i = 0; i < SB_COUNT_OF(variants); i++) {
        for (uint32_t ranks = 1; ranks <= 17; ranks = next_ranks(ranks)) {
            int failures = job_run(ranks, 60, run_variant, (void *)(uintptr_t)&variants[i]);
            if (failures > 0)
                print_error("%s tree, %u ranks\n", variants[i].tree, ranks);
            assert_int_equal(failures, 0);
        }
    }
}

/* What the variables make of the pipeline. */
static void the_form_follows_the_settings(void **state)
{
    sb_settings_t settings = {.ring_bytes = 4 << 20};
    sb_pipeline_form_t form = sb_pipeline_form(&settings);

    (void)state;
    /* The model's 14482 bytes in whole pages. */
    assert_int_equal(form.fragment, 16384);
    assert_int_equal(form.slots, 256);
    /* Sets of four buffers. */
    assert_int_equal(form.sets, 64);
    assert_int_equal(form.least, 2);
    settings.fragment_bytes = 1000;
    form = sb_pipeline_form(&settings);
    assert_int_equal(form.fragment, 1000);
    assert_int_equal(form.slots, (4 << 20) / 1000 / 4 * 4);
    settings.bcast_slots = 7;
    settings.bcast_sets = 3;
    form = sb_pipeline_form(&settings);
    assert_int_equal(form.slots, 6);
    assert_int_equal(form.least, 3);
    settings.bcast_sets = 9;
    form = sb_pipeline_form(&settings);
    assert_int_equal(form.sets, 7);
    assert_int_equal(form.slots, 7);
}

/* Rank 1 has memory for a few buffers only: all use as few; or for none: all are refused. */
static int run_short_of_memory(rank_context_t *context, void *argument)
{
    size_t more = *(const size_t *)argument;
    size_t kib = strtoul(job_little_memory(context->size), NULL, 10) + more;
    char text[32];

    set_variant(&(variant_t){"auto", "4", "4096", "64", "2"});
    snprintf(text, sizeof text, "%zuKiB", kib);
    if (context->rank == 1)
        setenv("SOBOR_MEMORY", text, 1);
    sb_team_t *team = job_team(context);
    if (team == NULL)
        return 1;
    sb_status_t status = sb_pipeline_prepare(team);
    if (more == 0)
        return status != SB_ERR_UNSUPPORTED || sb_pipeline_prepare(team) != SB_ERR_UNSUPPORTED;
    uint32_t slots =
        status == SB_OK ? sb_pipeline(team)->ring.per_set * sb_pipeline(team)->ring.count : 0;
    if (slots >= 2 && slots < 64)
        return job_bcast(team, pipelined(), 2, 1000000);
    fprintf(stderr, "rank %u: %zu KiB: %u buffers\n", context->rank, kib, slots);
    return 1;
}

static void memory_is_agreed(void **state)
{
    size_t refused = 0, few = 48;

    (void)state;
    assert_int_equal(job_run(3, 20, run_short_of_memory, &few), 0);
    assert_int_equal(job_run(3, 20, run_short_of_memory, &refused), 0);
}

/* A rank that expects another size, in each regime, is told and stays in step. */
static int run_disagreement(rank_context_t *context, void *argument)
{
    static const size_t sent[] = {100, 1000, 3900, 20000};
    static unsigned char data[20101];

    (void)argument;
    set_variant(&(variant_t){"chain", "4", "1000", "4", "2"});
    sb_team_t *team = job_team(context);
    int failures = team == NULL || sb_pipeline_prepare(team) != SB_OK;
    for (size_t i = 0; failures == 0 && i < SB_COUNT_OF(sent); i++) {
        for (int more = -1; more <= 1; more++) {
            bool wrong = context->rank == 1 && more != 0;
            size_t bytes = sent[i] + (wrong ? (size_t)(more * 99) : 0);
            sb_stream_t stream = {.base = (char *)data, .bytes = bytes};
            memset(data, context->rank == 0 ? 7 : 0, sizeof data);
            sb_status_t status = pipelined()->bcast(team, 0, &stream);
            failures += status != (!wrong ? SB_OK : more < 0 ? SB_ERR_TRUNCATE : SB_ERR_SHORT);
            failures += data[sb_min(bytes, sent[i]) - 1] != 7;
            failures += context->rank == 1 && data[bytes] != 0;
        }
    }
    return failures + (failures == 0 && job_bcast(team, pipelined(), 1, 5000) != 0);
}

static void disagreement_is_told(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, 20, run_disagreement, NULL), 0);
}

static bool read_rules(const char *text, sb_rules_t *rules)
{
    int file = memfd_create("rules", 0);
    char path[64], error[512] = "no file";

    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    bool right = write(file, text, strlen(text)) == (ssize_t)strlen(text) &&
                 sb_tuning_read(path, rules, error, sizeof error);
    if (!right)
        fprintf(stderr, "%s\n", error);
    close(file);
    return right;
}

/*
 * Rules of rank 0's tuning file: the memory by those without limits, the rest by the size of each
 * message. Rank 1 has other rules and the last rank none.
 */
static int run_tuned(rank_context_t *context, void *argument)
{
    static const char *const texts[] = {
        "{\"rules\": ["
        "{\"collective\": \"bcast\", \"bytes\": {\"to\": 5000}, \"fragment\": 500, \"tree\": "
        "\"flat\"},"
        "{\"collective\": \"bcast\", \"bytes\": {\"to\": 6000}, \"fragment\": 3000, \"tree\": "
        "\"knomial\", \"arity\": 3},"
        "{\"collective\": \"bcast\", \"ranks\": 99, \"slots\": 2},"
        "{\"collective\": \"bcast\", \"fragment\": 1000, \"slots\": 8, \"sets\": 4, \"ring\": "
        "\"64KiB\", \"tree\": \"knomial\", \"arity\": 2}]}",
        "{\"rules\": [{\"collective\": \"bcast\", \"fragment\": 10, \"slots\": 3, \"tree\": "
        "\"chain\"}]}",
    };
    static const size_t sizes[] = {1, 4999, 5000, 5001, 6000, 6001, 20000, 100};
    static sb_rules_t rules;

    (void)argument;
    if (context->rank < SB_COUNT_OF(texts) && !read_rules(texts[context->rank], &rules))
        return 1;
    context->front.rules = context->rank < SB_COUNT_OF(texts) ? &rules : NULL;
    sb_team_t *team = job_team(context);
    if (team == NULL || sb_pipeline_prepare(team) != SB_OK || sb_rings_prepare(team) != SB_OK)
        return 1;
    const sb_pipeline_t *pipeline = sb_pipeline(team);
    int failures = team->rules->count != 3 || sb_rings(team)->cursor.ring != 64 << 10;
    failures +=
        pipeline->fragment != 1000 || pipeline->ring.count != 4 || pipeline->ring.per_set != 2;
    failures += sb_pipeline_fragment(team, 5000) != 500 || sb_team_fragment(team, 5001) != 3000;
    failures +=
        sb_pipeline_fragment(team, 5001) != 1000 || sb_pipeline_fragment(team, 9999) != 1000;
    failures +=
        sb_team_arity(team, SB_BCAST, 5000) != 3 || sb_team_arity(team, SB_BCAST, 6001) != 2;
    failures += sb_pipeline_place(team, 0, 5000).count != (team->rank == 0 ? 4u : 0);
    failures += team->rank == 0 &&
                (sb_pipeline_place(team, 0, 5001).count != 3 ||
                 sb_pipeline_place(team, 0, 6001).count != 3 || pipeline->spans_arity != 2);
    failures += team->rank == 3 && sb_pipeline_place(team, 0, 5001).count != 1;
    failures += team->rank == 3 && sb_pipeline_place(team, 0, 6001).count != 0;
    for (size_t i = 0; i < SB_COUNT_OF(sizes) && failures == 0; i++)
        failures += job_bcast(team, pipelined(), (uint32_t)i % team->size, sizes[i]);
    return failures;
}

/* A rule that says auto of the ring leaves it as it is without the rule. */
static int run_ring_auto(rank_context_t *context, void *argument)
{
    static sb_rules_t rules;

    (void)argument;
    if (!read_rules("{\"rules\": [{\"collective\": \"bcast\", \"ring\": \"auto\"},"
                    "{\"collective\": \"bcast\", \"ring\": \"32KiB\"}]}",
                    &rules))
        return 1;
    context->front.rules = &rules;
    sb_team_t *team = job_team(context);
    if (team == NULL || sb_pipeline_prepare(team) != SB_OK || sb_rings_prepare(team) != SB_OK)
        return 1;
    const sb_pipeline_form_t form = sb_pipeline_form(&team->settings);
    const sb_pipeline_t *pipeline = sb_pipeline(team);
    return (team->rules->count != 2) + (sb_rings(team)->usual != team->settings.ring_bytes) +
           (pipeline->fragment != form.fragment || pipeline->ring.count != form.sets ||
            pipeline->ring.per_set != form.slots / form.sets);
}

static void a_ring_may_be_left_as_it_is(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, 20, run_ring_auto, NULL), 0);
}

static void rules_shape_messages_by_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++) { /* what an earlier test has set overrules nothing here */
        static const char *const names[] = {"SOBOR_BCAST_TREE", "SOBOR_TREE_ARITY",
                                            "SOBOR_FRAGMENT", "SOBOR_BCAST_SLOTS",
                                            "SOBOR_BCAST_SETS"};
        unsetenv(names[i]);
    }
    assert_int_equal(job_run(5, 20, run_tuned, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_root_tree_and_threshold),
        cmocka_unit_test(the_form_follows_the_settings),
        cmocka_unit_test(memory_is_agreed),
        cmocka_unit_test(disagreement_is_told),
        cmocka_unit_test(rules_shape_messages_by_size),
        cmocka_unit_test(a_ring_may_be_left_as_it_is),
    };

    sb_baselines_add();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
