/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All broadcasts over forked processes: every root, 1 to 17 ranks, sizes around each threshold, in
 * groups of every form, and ranks that expect another size.
 */
#include "../unit/testing.h"

#include "job.h"

#include "select/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAGMENT 1000
#define RING 16384 /* the least that a team asks for */

/* One run: an algorithm, with groups of at most so many ranks. */
typedef struct variant {
    const sb_algorithm_t *algorithm;
    const char *group;
} variant_t;

static unsigned char pattern(size_t i, uint32_t root, size_t bytes)
{
    return (unsigned char)(i * 37 + (i >> 8) * 5 + root * 11 + bytes * 3 + 1);
}

static int send_checked(sb_team_t *team, const sb_algorithm_t *algorithm, uint32_t root,
                        size_t bytes)
{
    unsigned char *data = malloc(bytes + 1);
    sb_stream_t stream = {.base = (char *)data, .bytes = bytes};
    int failures = 0;

    memset(data, 0xee, bytes + 1);
    for (size_t i = 0; team->rank == root && i < bytes; i++)
        data[i] = pattern(i, root, bytes);
    failures += sb_algorithm_prepare(algorithm, team, bytes) != SB_OK;
    failures += failures > 0 || algorithm->bcast(team, root, &stream) != SB_OK;
    for (size_t i = 0; i < bytes && failures == 0; i++)
        failures += data[i] != pattern(i, root, bytes);
    failures += data[bytes] != 0xee;
    if (failures > 0)
        fprintf(stderr, "%s: rank %u of %u, root %u, %zu bytes\n", algorithm->name, team->rank,
                team->size, root, bytes);
    free(data);
    return failures;
}

/* Around the flag's line, the slot, all slots, the fragment, a quarter of the ring and the ring. */
static size_t thresholds(size_t *sizes)
{
    static const size_t edges[] = {
        SB_SLOT_IN_LINE, SB_SLOT_PAYLOAD, FRAGMENT, RING / 4, SB_SLOTS * SB_SLOT_PAYLOAD, RING,
    };
    size_t count = 0;

    sizes[count++] = 1;
    for (size_t i = 0; i < SB_COUNT_OF(edges); i++) {
        for (int more = -1; more <= 1; more++)
            sizes[count++] = edges[i] + (size_t)more;
    }
    sizes[count++] = 3 * RING + FRAGMENT + 1;
    return count;
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
            if (send_checked(team, variant->algorithm, root, sizes[i]) != 0)
                return 1;
        }
    }
    if (team == NULL)
        return 1;
    sb_team_destroy(team);
    return 0;
}

static void every_root_and_threshold(void **state)
{
    static const char *const groups[] = {"2", "3", "10"};

    (void)state;
    for (size_t a = 0; a < sb_algorithm_count(); a++) {
        variant_t variant = {sb_algorithm_at(a), "10"};
        bool grouped = strcmp(variant.algorithm->name, "numa-relay") == 0;
        for (size_t g = 0; g < (grouped ? SB_COUNT_OF(groups) : 1); g++) {
            if (variant.algorithm->collective != SB_BCAST)
                break;
            variant.group = grouped ? groups[g] : variant.group;
            for (uint32_t ranks = 1; ranks <= 17; ranks++) {
                int failures = job_run(ranks, 60, run_variant, &variant);
                if (failures > 0)
                    print_error("%s, groups of %s, %u ranks\n", variant.algorithm->name,
                                variant.group, ranks);
                assert_int_equal(failures, 0);
            }
        }
    }
}

/* A rank that expects another size is told, serves the others all the same, and stays in step. */
static int run_disagreement(rank_context_t *context, void *argument)
{
    static const size_t sent[] = {600, 5000, 40000};
    static unsigned char data[41000];
    const variant_t *variant = argument;
    sb_team_t *team = make_team(context, variant);
    int failures = team == NULL || sb_algorithm_prepare(variant->algorithm, team, 1000) != SB_OK;

    for (size_t i = 0; failures == 0 && i < SB_COUNT_OF(sent); i++) {
        for (int more = -1; more <= 1; more++) {
            bool wrong = context->rank == 4 && more != 0;
            size_t bytes = sent[i] + (wrong ? (size_t)(more * 300) : 0);
            sb_stream_t stream = {.base = (char *)data, .bytes = bytes};
            memset(data, context->rank == 0 ? 7 : 0, sizeof data);
            sb_status_t status = variant->algorithm->bcast(team, 0, &stream);
            failures += status != (wrong ? SB_ERR_TRUNCATE : SB_OK);
            failures += data[sb_min(bytes, sent[i]) - 1] != 7;
            failures += context->rank != 0 && data[sb_min(bytes, sent[i])] != 0;
        }
    }
    return failures + (failures == 0 && send_checked(team, variant->algorithm, 1, 5000) != 0);
}

static void disagreement_is_told(void **state)
{
    static const char *const names[] = {"ring", "tree", "numa-relay"};

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(names); i++) {
        variant_t variant = {sb_algorithm_find(SB_BCAST, names[i]), "3"};
        assert_int_equal(job_run(6, 20, run_disagreement, &variant), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_root_and_threshold),
        cmocka_unit_test(disagreement_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
