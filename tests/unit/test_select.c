/* SPDX-License-Identifier: BSD-3-Clause */
#include "../long_form.h"
#include "testing.h"

#include "base/config.h"
#include "baseline/baseline.h"
#include "coll/barrier/barrier.h"
#include "select/select.h"

#include <stdio.h>
#include <string.h>

static sb_settings_t settings(const char *barrier, const char *bcast)
{
    sb_settings_t made = {.ring_bytes = 512 << 10, .tree_arity = 4, .collectives = UINT32_MAX};

    for (sb_collective_t c = 0; c < SB_COLLECTIVES; c++)
        strcpy(made.algorithm[c], "auto");
    strcpy(made.algorithm[SB_BARRIER], barrier);
    strcpy(made.algorithm[SB_BCAST], bcast);
    return made;
}

static sb_shape_t shape(uint32_t ranks, bool oversubscribed)
{
    return (sb_shape_t){
        .prices = &sb_prices_standard,
        .ranks = ranks,
        .oversubscribed = oversubscribed,
        .processors = oversubscribed ? 2 : ranks,
        .tree_arity = 4,
        .ring_bytes = 512 << 10,
        .ungrouped = "the ranks are not bound to processors",
    };
}

static void algorithms_are_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < sb_algorithm_count(); i++) {
        const sb_algorithm_t *algorithm = sb_algorithm_at(i);
        assert_ptr_equal(sb_algorithm_find(algorithm->collective, algorithm->name), algorithm);
        assert_true(strlen(algorithm->name) < SB_NAME_BYTES);
        assert_true(strlen(algorithm->doc) > 20 && strlen(algorithm->source) > 5);
        assert_true((algorithm->barrier != NULL) == (algorithm->collective == SB_BARRIER));
        assert_true((algorithm->bcast != NULL) == (algorithm->collective == SB_BCAST));
        assert_true((algorithm->reduction != NULL) == (algorithm->collective >= SB_REDUCE));
        assert_true(algorithm->reduction != NULL || !(algorithm->brackets || algorithm->reorders));
    }
}

static void former_names_are_taken(void **state)
{
    const sb_algorithm_t renamed = {.name = "new", .former = "old,older"};
    static const char *const right[] = {"new", "old", "older"}, *const wrong[] = {"ol", "older,",
                                                                                  ""};

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(right); i++)
        assert_true(sb_algorithm_named(&renamed, right[i]));
    for (size_t i = 0; i < SB_COUNT_OF(wrong); i++)
        assert_false(sb_algorithm_named(&renamed, wrong[i]));
}

/* A name means one algorithm of its collective, whenever it was written down. */
static void no_name_means_two(void **state)
{
    (void)state;
    for (size_t i = 0; i < sb_algorithm_count(); i++) {
        const sb_algorithm_t *one = sb_algorithm_at(i);
        for (size_t j = 0; j < sb_algorithm_count(); j++) {
            const sb_algorithm_t *other = sb_algorithm_at(j);
            bool both =
                one->collective == other->collective && sb_algorithm_named(one, other->name);
            assert_int_equal(both, i == j);
        }
    }
}

static void prices_are_documented_and_count(void **state)
{
    sb_prices_t prices = sb_prices_standard;
    sb_shape_t usual = shape(8, false), dear = shape(8, false);

    (void)state;
#define SB_PRICE(name, follows, unit, standard, doc)                                               \
    assert_true(strlen(#name) > 3 && strlen(doc) > 10 && prices.name > 0);
#include "team/prices.def"
#undef SB_PRICE
    prices.line = 1000;
    dear.prices = &prices;
    assert_true(sb_barrier_tree.cost(&dear, 0) > 10 * sb_barrier_tree.cost(&usual, 0));
}

/* Prices that are not built in choose where nothing is combined, and only there. */
static void prices_never_choose_a_reduction(void **state)
{
    sb_settings_t usual = settings("auto", "auto");
    sb_prices_t prices = sb_prices_standard;
    uint32_t changed = 0;

    (void)state;
    prices.line *= 5;
    prices.next_line *= 5;
    prices.byte /= 5;
    for (uint32_t i = 0; i < SB_COLLECTIVES * drawn(200); i++) {
        sb_collective_t collective = i % SB_COLLECTIVES;
        sb_shape_t ranks = shape(2 + i / SB_COLLECTIVES, false);
        for (size_t bytes = 8; bytes < (size_t)1 << 21; bytes *= 2) {
            sb_choice_t built_in = sb_choose(collective, &ranks, &usual, bytes, false);
            sb_shape_t other = ranks;
            other.prices = &prices;
            sb_choice_t choice = sb_choose(collective, &other, &usual, bytes, false);
            if (collective >= SB_REDUCE)
                assert_ptr_equal(choice.algorithm, built_in.algorithm);
            changed += choice.algorithm != built_in.algorithm;
        }
    }
    assert_true(changed > 0);
}

static bool suits(sb_prices_t *prices, sb_processor_t processor)
{
    *prices = sb_prices_standard;
    sb_prices_suit(prices, processor);
    return memcmp(prices, &sb_prices_standard, sizeof *prices) != 0;
}

/* Choices of all collectives and sizes that are others on a processor than on an unknown one. */
static uint32_t choices_changed(sb_shape_t ranks, sb_processor_t processor)
{
    sb_settings_t usual = settings("auto", "auto");
    sb_shape_t known = ranks;
    uint32_t changed = 0;

    known.processor = processor;
    for (sb_collective_t collective = 0; collective < SB_COLLECTIVES; collective++) {
        for (size_t bytes = 8; bytes < (size_t)1 << 20; bytes *= 2)
            changed += sb_choose(collective, &known, &usual, bytes, false).algorithm !=
                       sb_choose(collective, &ranks, &usual, bytes, false).algorithm;
    }
    return changed;
}

/* What is known of a processor counts for several ranks that have one each, and only for them. */
static void a_processor_suits_ranks_with_one_each(void **state)
{
    sb_prices_t prices;

    (void)state;
    assert_false(suits(&prices, SB_PROCESSOR_OTHER));
    for (sb_processor_t processor = 1; processor < SB_PROCESSORS; processor++) {
        uint32_t changed = 0;
        assert_true(suits(&prices, processor));
        for (size_t i = 0; i < sb_price_count(); i++)
            assert_true(sb_price_sane(i, sb_price_get(&prices, i)));
        for (uint32_t ranks = 3; ranks <= 128; ranks += takes_few() ? 5 : 1)
            changed += choices_changed(shape(ranks, false), processor);
        assert_true(changed > 0);
        assert_int_equal(choices_changed(shape(2, false), processor), 0);
        assert_int_equal(choices_changed(shape(16, true), processor), 0);
    }
}

static void size_classes_hold_their_sizes(void **state)
{
    (void)state;
    for (size_t bytes = 1; bytes < 100000; bytes++) {
        uint32_t c = sb_size_class(bytes);
        assert_true(bytes <= sb_class_bytes(c));
        assert_true(bytes > sb_class_bytes(c - 1));
    }
    assert_int_equal(sb_class_bytes(sb_size_class(SB_SLOT_PAYLOAD)), SB_SLOT_PAYLOAD);
    assert_true(sb_size_class((size_t)1 << 60) < SB_SIZE_CLASSES);
}

/* 128 ranks, 32 on each of 4 NUMA nodes, 2 in each of 2 packages. */
static sb_shape_t grouped(void)
{
    sb_shape_t made = shape(128, false);

    made.ungrouped = NULL;
    made.stages = 3;
    made.fan[0] = 32;
    made.fan[1] = made.fan[2] = 2;
    return made;
}

static void a_forced_algorithm_is_taken_at_every_size(void **state)
{
    sb_shape_t ranks = grouped();

    (void)state;
    for (size_t i = 0; i < sb_algorithm_count(); i++) {
        const sb_algorithm_t *algorithm = sb_algorithm_at(i);
        sb_settings_t forced = settings("auto", "auto");
        snprintf(forced.algorithm[algorithm->collective], SB_NAME_BYTES, "%s", algorithm->name);
        for (size_t bytes = 1; bytes < (size_t)1 << 40; bytes *= 8) {
            sb_choice_t choice = sb_choose(algorithm->collective, &ranks, &forced, bytes, false);
            assert_ptr_equal(choice.algorithm, algorithm);
        }
    }
}

/* What stands for an MPI library's messages, or for a publication, is chosen by name alone. */
static void parts_are_moved_by_the_direct_algorithms(void **state)
{
    sb_settings_t automatic = settings("auto", "auto");

    (void)state;
    for (uint32_t ranks = 2; ranks <= 128; ranks *= 2) {
        sb_shape_t calm = shape(ranks, false), crowded = shape(ranks, true);
        for (uint32_t c = SB_SCATTER; c <= SB_ALLTOALLW; c++) {
            for (size_t bytes = 1; bytes < (size_t)1 << 30; bytes *= 8) {
                assert_string_equal(
                    sb_choose((sb_collective_t)c, &calm, &automatic, bytes, false).algorithm->name,
                    "direct");
                assert_string_equal(
                    sb_choose((sb_collective_t)c, &crowded, &automatic, bytes, false)
                        .algorithm->name,
                    "direct");
            }
        }
    }
}

static void host_is_taken_when_asked_for(void **state)
{
    sb_settings_t asked = settings("host", "host");
    sb_settings_t barrier_only = settings("auto", "auto");
    sb_shape_t ranks = shape(8, false);

    (void)state;
    assert_null(sb_choose(SB_BARRIER, &ranks, &asked, 0, false).algorithm);
    assert_null(sb_choose(SB_BCAST, &ranks, &asked, 100, false).algorithm);
    barrier_only.collectives = 1u << SB_BARRIER;
    assert_non_null(sb_choose(SB_BARRIER, &ranks, &barrier_only, 0, false).algorithm);
    assert_null(sb_choose(SB_BCAST, &ranks, &barrier_only, 100, false).algorithm);
}

/* One node of several has no host to leave its part to. */
static void inside_a_node_nothing_is_the_hosts(void **state)
{
    static const sb_rules_t rules = {.count = 1,
                                     .rule = {{.collective = SB_BCAST,
                                               .sets = 1u << SB_TUNE_ALGORITHM,
                                               .ranks_to = UINT64_MAX,
                                               .bytes_to = UINT64_MAX,
                                               .oversubscribed = -1,
                                               .value[SB_TUNE_ALGORITHM] = SB_RULE_HOST}}};
    sb_settings_t usual = settings("auto", "auto"), asked = settings("host", "host");
    sb_settings_t ruled = usual, few = usual;
    sb_shape_t ranks = shape(8, false), node = ranks;

    (void)state;
    ruled.rules = &rules;
    few.collectives = 1u << SB_BARRIER;
    node.inside = true;
    for (size_t bytes = 8; bytes < (size_t)1 << 20; bytes *= 8) {
        const sb_algorithm_t *best = sb_choose(SB_BCAST, &ranks, &usual, bytes, false).algorithm;
        assert_null(sb_choose(SB_BCAST, &ranks, &ruled, bytes, false).algorithm);
        assert_ptr_equal(sb_choose(SB_BCAST, &node, &ruled, bytes, false).algorithm, best);
        assert_ptr_equal(sb_choose(SB_BCAST, &node, &asked, bytes, false).algorithm, best);
        assert_ptr_equal(sb_choose(SB_BCAST, &node, &few, bytes, false).algorithm, best);
    }
}

static void choice_fits_size_and_ranks(void **state)
{
    sb_settings_t automatic = settings("auto", "auto");
    sb_shape_t two = shape(2, false), many = shape(128, false), crowded = shape(8, true);

    (void)state;
    for (size_t bytes = 1; bytes <= SB_SLOT_PAYLOAD; bytes++)
        assert_string_equal(sb_choose(SB_BCAST, &two, &automatic, bytes, false).algorithm->name,
                            "slots");
    assert_string_equal(sb_choose(SB_BCAST, &two, &automatic, 65536, false).algorithm->name,
                        "ring");
    assert_string_equal(sb_choose(SB_BARRIER, &two, &automatic, 0, false).algorithm->name, "flat");
    assert_string_equal(sb_choose(SB_BARRIER, &crowded, &automatic, 0, false).algorithm->name,
                        "counter");
    assert_string_not_equal(sb_choose(SB_BARRIER, &many, &automatic, 0, false).algorithm->name,
                            "flat");
    assert_string_equal(sb_choose(SB_BCAST, &many, &automatic, 65536, false).algorithm->name,
                        "tree");
    assert_string_equal(sb_choose(SB_BCAST, &many, &automatic, 8, false).algorithm->name, "tree");
}

/* Where ranks form groups, one brings the others what comes from far or is wanted by many. */
static void relays_serve_ranks_in_groups(void **state)
{
    sb_settings_t automatic = settings("auto", "auto");
    sb_shape_t apart = grouped(), near = grouped(), alone = shape(128, false);

    (void)state;
    apart.apart = true;
    for (size_t bytes = 1000; bytes < 512 << 10; bytes *= 4) {
        assert_string_equal(sb_choose(SB_BCAST, &apart, &automatic, bytes, false).algorithm->name,
                            "numa-relay");
    }
    assert_string_equal(sb_choose(SB_BCAST, &apart, &automatic, 8, false).algorithm->name, "tree");
    assert_string_not_equal(sb_choose(SB_BCAST, &apart, &automatic, 4 << 20, false).algorithm->name,
                            "numa-relay");
    assert_string_equal(sb_choose(SB_BCAST, &near, &automatic, 32768, false).algorithm->name,
                        "numa-relay");
    assert_string_equal(sb_choose(SB_BCAST, &alone, &automatic, 32768, false).algorithm->name,
                        "tree");
}

/* So in allgather, unless a large group receives more than its caches hold. */
static void near_parts_are_shared(void **state)
{
    sb_settings_t automatic = settings("auto", "auto");
    sb_shape_t small = grouped(), large = grouped(), crowded = grouped();

    (void)state;
    small.fan[0] = 8;
    crowded.oversubscribed = true;
    crowded.processors = 8;
    for (size_t bytes = 1; bytes <= 1 << 20; bytes *= 2) {
        const char *wanted = bytes < 8192 ? "numa-relay" : "direct";
        for (uint32_t c = SB_ALLGATHER; c <= SB_ALLGATHERV; c++) {
            sb_collective_t all = (sb_collective_t)c;
            assert_string_equal(sb_choose(all, &small, &automatic, bytes, false).algorithm->name,
                                "numa-relay");
            assert_string_equal(sb_choose(all, &large, &automatic, bytes, false).algorithm->name,
                                wanted);
        }
    }
    assert_string_equal(sb_choose(SB_ALLGATHER, &crowded, &automatic, 8, false).algorithm->name,
                        "direct");
}

static void forced_groups_need_groups(void **state)
{
    sb_settings_t forced = settings("hierarchical-numa", "auto");
    sb_shape_t unbound = shape(8, false), bound = grouped();
    const sb_algorithm_t *numa = sb_algorithm_find(SB_BARRIER, "hierarchical-numa");

    (void)state;
    sb_choice_t choice = sb_choose(SB_BARRIER, &bound, &forced, 0, false);
    assert_ptr_equal(choice.algorithm, numa);
    assert_null(choice.refused);
    choice = sb_choose(SB_BARRIER, &unbound, &forced, 0, false);
    assert_ptr_equal(choice.refused, numa);
    assert_string_equal(choice.reason, "the ranks are not bound to processors");
    assert_int_equal(choice.algorithm->levels, 0);
}

static void named_sets_of_levels_are_not_chosen_by_themselves(void **state)
{
    sb_settings_t automatic = settings("auto", "auto");
    sb_shape_t bound = grouped();

    (void)state;
    for (bound.ranks = 2; bound.ranks < 1024; bound.ranks++) {
        bound.processors = bound.ranks;
        assert_false(sb_choose(SB_BARRIER, &bound, &automatic, 0, false).algorithm->on_request);
    }
}

/* Whatever the prices: a job has them only where a variable or a rule names one of them, and what
 * is asked what would be chosen always has them. */
static void baselines_are_taken_by_name_alone(void **state)
{
    static const sb_algorithm_t *const baselines[] = {
#define SB_BASELINE(collective, name, text) &sb_##collective##_##name,
#include "base/baselines.def"
#undef SB_BASELINE
    };

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(baselines); i++) {
        if (!baselines[i]->on_request)
            fail_msg("%s %s may be chosen", sb_collective_name(baselines[i]->collective),
                     baselines[i]->name);
    }
}

/* A few ranks in slots, many over blocks, medium ones and those of few ranks in rings, large ones
 * in slices; nothing made of messages. */
static void reductions_fit_size_and_ranks(void **state)
{
    sb_settings_t automatic = settings("auto", "auto");
    sb_shape_t two = shape(2, false), crowded = shape(8, true), many = grouped();

    (void)state;
    assert_string_equal(sb_choose(SB_ALLREDUCE, &two, &automatic, 8, false).algorithm->name,
                        "slots");
    assert_string_equal(sb_choose(SB_ALLREDUCE, &two, &automatic, 2000, false).algorithm->name,
                        "rings");
    /* Two slots are looked at together. */
    for (size_t bytes = 8; bytes <= sb_class_bytes(9); bytes += 8)
        assert_string_equal(sb_choose(SB_REDUCE, &two, &automatic, bytes, false).algorithm->name,
                            "slots");
    assert_string_equal(sb_choose(SB_REDUCE, &two, &automatic, 1000, false).algorithm->name,
                        "rings");
    for (size_t bytes = 4 << 10; bytes <= (size_t)64 << 20; bytes *= 2)
        assert_string_equal(sb_choose(SB_ALLREDUCE, &two, &automatic, bytes, false).algorithm->name,
                            "rings");
    assert_string_equal(sb_choose(SB_ALLREDUCE, &crowded, &automatic, 8, false).algorithm->name,
                        "slots");
    assert_string_equal(sb_choose(SB_ALLREDUCE, &many, &automatic, 8, false).algorithm->name,
                        "k-ary-tree");
    assert_string_equal(sb_choose(SB_SCAN, &many, &automatic, 8, false).algorithm->name,
                        "k-ary-tree");
    assert_string_equal(sb_choose(SB_EXSCAN, &two, &automatic, 1 << 24, false).algorithm->name,
                        "rings");
    assert_string_equal(sb_choose(SB_REDUCE, &crowded, &automatic, 4096, false).algorithm->name,
                        "rings");
    /* Who waits for nobody may run far ahead. */
    assert_string_equal(sb_choose(SB_REDUCE, &crowded, &automatic, 8, false).algorithm->name,
                        "rings");
    assert_string_equal(sb_choose(SB_SCAN, &crowded, &automatic, 8, false).algorithm->name,
                        "rings");
    assert_string_equal(sb_choose(SB_EXSCAN, &crowded, &automatic, 8, false).algorithm->name,
                        "rings");
    assert_string_equal(sb_choose(SB_SCAN, &two, &automatic, 8, false).algorithm->name, "slots");
    assert_string_equal(sb_choose(SB_REDUCE, &many, &automatic, 1 << 20, false).algorithm->name,
                        "reduce-scatter-allgather");
    for (uint32_t c = SB_REDUCE; c <= SB_EXSCAN; c++) {
        for (size_t bytes = 1; bytes < (size_t)1 << 30; bytes *= 4) {
            sb_choice_t choice = sb_choose((sb_collective_t)c, &many, &automatic, bytes, false);
            assert_false(choice.algorithm->on_request || choice.algorithm->reorders);
        }
    }
}

/* A long reduce_scatter of ranks that share processors has each of them run once, unless caches do
 * not keep what passes; those with a processor each never go so by themselves. */
static void ranks_that_share_processors_deal_once(void **state)
{
    sb_settings_t automatic = settings("auto", "auto");

    (void)state;
    for (uint32_t ranks = 4; ranks <= 16; ranks *= 2) {
        sb_shape_t calm = shape(ranks, false), crowded = shape(ranks, true);
        for (size_t bytes = 8; bytes <= (size_t)16 << 20; bytes *= 2) {
            size_t together = bytes * ranks / crowded.processors;
            bool asked = bytes >= (size_t)256 << 10 && together <= (size_t)2 << 20;
            bool never = together >= (size_t)8 << 20;
            const char *name =
                sb_choose(SB_REDUCE_SCATTER, &crowded, &automatic, bytes, false).algorithm->name;
            assert_true(!asked || strcmp(name, "dealt") == 0);
            assert_true(!never || strcmp(name, "reduce-scatter-allgather") == 0);
            name = sb_choose(SB_REDUCE_SCATTER, &calm, &automatic, bytes, false).algorithm->name;
            assert_true(strcmp(name, "dealt") != 0);
        }
    }
}

/* What the operator or the user forbids is not chosen, and not taken when it is asked for. */
/* Two ranks with heaps combine where results belong, from where that pays; else rings take it. */
static void loads_turn_two_ranks_to_slices(void **state)
{
    const sb_settings_t made = settings("auto", "auto");
    sb_shape_t two = shape(2, false);

    (void)state;
    for (int heap = 0; heap < 2; heap++) {
        two.loads = heap * (size_t)(64 << 10);
        for (size_t bytes = 16 << 10; bytes <= 1 << 20; bytes *= 2) {
            const sb_algorithm_t *by = sb_choose(SB_ALLREDUCE, &two, &made, bytes, false).algorithm;
            bool slices = heap && bytes >= 32 << 10;
            assert_string_equal(by->name, slices ? "reduce-scatter-allgather" : "rings");
        }
    }
}

static void order_is_kept_where_it_has_to_be(void **state)
{
    sb_settings_t strict = settings("auto", "auto"), ring = settings("auto", "auto");
    sb_settings_t doubling = settings("auto", "auto");
    sb_shape_t many = grouped();

    (void)state;
    strict.reproducible = doubling.reproducible = SB_REPRODUCIBLE_STRICT;
    strcpy(ring.algorithm[SB_ALLREDUCE], "p2p-ring");
    strcpy(doubling.algorithm[SB_ALLREDUCE], "p2p-recursive-doubling");
    for (uint32_t c = SB_REDUCE; c <= SB_EXSCAN; c++) {
        for (size_t bytes = 1; bytes < (size_t)1 << 30; bytes *= 4) {
            sb_choice_t choice = sb_choose((sb_collective_t)c, &many, &strict, bytes, false);
            assert_false(choice.algorithm->brackets || choice.algorithm->reorders);
        }
    }
    assert_string_equal(sb_choose(SB_ALLREDUCE, &many, &ring, 8, false).algorithm->name,
                        "p2p-ring");
    sb_choice_t choice = sb_choose(SB_ALLREDUCE, &many, &ring, 8, true);
    assert_false(choice.algorithm->reorders);
    assert_string_equal(choice.refused->name, "p2p-ring");
    choice = sb_choose(SB_ALLREDUCE, &many, &doubling, 8, false);
    assert_false(choice.algorithm->brackets);
    assert_string_equal(choice.reason, "SOBOR_REPRODUCIBLE=strict");
}

static void plans_know_the_operator(void **state)
{
    static sb_plan_table_t table;
    sb_settings_t ring = settings("auto", "auto");
    sb_shape_t many = grouped();

    (void)state;
    strcpy(ring.algorithm[SB_ALLREDUCE], "p2p-ring");
    sb_plan_start(&table, &many, &ring);
    assert_true(sb_planned(&table, SB_ALLREDUCE, 8, false)->algorithm->reorders);
    assert_false(sb_planned(&table, SB_ALLREDUCE, 8, true)->algorithm->reorders);
    assert_false(sb_planned(&table, SB_ALLREDUCE, 900, true)->algorithm->reorders);
    sb_plan_end(&table);
}

static const char *name_of(const char *name)
{
    const sb_algorithm_t *found = sb_algorithm_find(SB_BARRIER, name);

    return found == NULL ? "-" : found->name;
}

static void sets_of_levels_go_by_name_in_any_order(void **state)
{
    (void)state;
    assert_string_equal(name_of("hierarchical-l3+numa"), "hierarchical-l3+numa");
    assert_string_equal(name_of("hierarchical-numa+l3"), "hierarchical-l3+numa");
    assert_string_equal(name_of("hierarchical-socket+numa"), "hierarchical-numa+package");
    assert_string_equal(name_of("hierarchical-package+numa+l2+l3"), "hierarchical-auto");
    assert_string_equal(name_of("hierarchical-numa+"), "-");
    assert_string_equal(name_of("hierarchical-core"), "-");
    assert_string_equal(name_of("hierarchical-"), "-");
    for (unsigned levels = 1; levels <= SB_LEVELS_ALL; levels++)
        assert_int_equal(sb_barrier_hierarchical[levels - 1].levels, levels);
}

static void unknown_names_become_auto(void **state)
{
    sb_settings_t wrong = settings("fastest", "slots");

    (void)state;
    sb_settings_check(&wrong);
    assert_string_equal(wrong.algorithm[SB_BARRIER], "auto");
    assert_string_equal(wrong.algorithm[SB_BCAST], "slots");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(algorithms_are_complete),
        cmocka_unit_test(former_names_are_taken),
        cmocka_unit_test(no_name_means_two),
        cmocka_unit_test(prices_are_documented_and_count),
        cmocka_unit_test(prices_never_choose_a_reduction),
        cmocka_unit_test(a_processor_suits_ranks_with_one_each),
        cmocka_unit_test(size_classes_hold_their_sizes),
        cmocka_unit_test(a_forced_algorithm_is_taken_at_every_size),
        cmocka_unit_test(parts_are_moved_by_the_direct_algorithms),
        cmocka_unit_test(host_is_taken_when_asked_for),
        cmocka_unit_test(inside_a_node_nothing_is_the_hosts),
        cmocka_unit_test(choice_fits_size_and_ranks),
        cmocka_unit_test(relays_serve_ranks_in_groups),
        cmocka_unit_test(near_parts_are_shared),
        cmocka_unit_test(forced_groups_need_groups),
        cmocka_unit_test(named_sets_of_levels_are_not_chosen_by_themselves),
        cmocka_unit_test(baselines_are_taken_by_name_alone),
        cmocka_unit_test(reductions_fit_size_and_ranks),
        cmocka_unit_test(ranks_that_share_processors_deal_once),
        cmocka_unit_test(order_is_kept_where_it_has_to_be),
        cmocka_unit_test(loads_turn_two_ranks_to_slices),
        cmocka_unit_test(plans_know_the_operator),
        cmocka_unit_test(sets_of_levels_go_by_name_in_any_order),
        cmocka_unit_test(unknown_names_become_auto),
    };

    sb_baselines_add();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
