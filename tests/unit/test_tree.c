/* SPDX-License-Identifier: BSD-3-Clause */
#include "testing.h"

#include "baseline/nomial.h"
#include "coll/coll.h"
#include "team/tree.h"

#include <stdlib.h>
#include <string.h>

/* Every rank but the root has one parent, is among that parent's children, and reaches the root. */
static void check_tree(uint32_t size, uint32_t root, uint32_t arity)
{
    uint32_t children = 0;

    for (uint32_t rank = 0; rank < size; rank++) {
        sb_tree_t tree = sb_tree(rank, root, size, arity);
        assert_true(tree.children <= arity);
        children += tree.children;
        for (uint32_t i = 0; i < tree.children; i++) {
            uint32_t child = sb_tree_child(&tree, i);
            assert_true(child < size && child != root);
            assert_int_equal(sb_tree(child, root, size, arity).parent, rank);
        }
        uint32_t at = rank, steps = 0;
        while (at != root) {
            at = sb_tree(at, root, size, arity).parent;
            assert_true(++steps <= sb_tree_depth(size, arity));
        }
    }
    assert_int_equal(children, size - 1);
}

static void trees_span_all_ranks(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= 33; size++) {
        for (uint32_t root = 0; root < size; root += 1 + size / 7) {
            for (uint32_t arity = 1; arity <= size; arity++)
                check_tree(size, root, arity);
        }
    }
    check_tree(1024, 1023, 4);
}

/* The same for k-nomial trees; a node is never deeper than its number has digits. */
static void check_nomial(uint32_t size, uint32_t root, uint32_t arity)
{
    uint32_t *spans = calloc(size, sizeof *spans), *children = calloc(size, sizeof *children);
    uint32_t found = 0, digits = 0;

    for (uint64_t reach = 1; reach < size; reach *= arity)
        digits++;
    sb_nomial_spans(spans, size, arity);
    for (uint32_t rank = 0; rank < size; rank++) {
        sb_nomial_t tree = sb_nomial(rank, root, size, arity, spans);
        uint32_t count = sb_nomial_children(&tree, children);
        found += count;
        for (uint32_t i = 0; i < count; i++) {
            assert_true(children[i] < size && children[i] != root);
            assert_int_equal(sb_nomial(children[i], root, size, arity, spans).parent, rank);
        }
        uint32_t at = rank, steps = 0;
        while (at != root) {
            at = sb_nomial(at, root, size, arity, spans).parent;
            assert_true(++steps <= digits);
        }
    }
    assert_int_equal(found, size - 1);
    free(spans);
    free(children);
}

static void nomial_trees_span_all_ranks(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= 33; size++) {
        for (uint32_t root = 0; root < size; root += 1 + size / 7) {
            for (uint32_t arity = 2; arity <= size + 1; arity++)
                check_nomial(size, root, arity);
        }
    }
    check_nomial(65536, 65535, 2);
    check_nomial(65536, 7, 256);
    check_nomial(65536, 7, 65535);
    check_nomial(1000, 999, 10);
}

/* Node 0 of a binomial tree of 8 has 4, 2 and 1 below it, the largest tree first. */
static void binomial_trees_are_as_known(void **state)
{
    uint32_t spans[8], children[8];

    (void)state;
    sb_nomial_spans(spans, 8, 2);
    sb_nomial_t top = sb_nomial(3, 3, 8, 2, spans);
    assert_int_equal(sb_nomial_children(&top, children), 3);
    assert_int_equal(children[0], 7);
    assert_int_equal(children[1], 5);
    assert_int_equal(children[2], 4);
    sb_nomial_t inner = sb_nomial(1, 3, 8, 2, spans);
    assert_int_equal(inner.parent, 7);
    assert_int_equal(sb_nomial_children(&inner, children), 1);
    assert_int_equal(children[0], 2);
}

static void arity_makes_chains_and_flat_trees(void **state)
{
    (void)state;
    assert_int_equal(sb_tree(3, 1, 8, 1).parent, 2);
    assert_int_equal(sb_tree(3, 1, 8, 7).parent, 1);
    assert_int_equal(sb_tree(1, 1, 8, 7).children, 7);
    assert_int_equal(sb_tree(0, 0, 4, 4000000000u).children, 3);
}

static void depths_and_rounds(void **state)
{
    (void)state;
    assert_int_equal(sb_tree_depth(1, 4), 0);
    assert_int_equal(sb_tree_depth(5, 4), 1);
    assert_int_equal(sb_tree_depth(6, 4), 2);
    assert_int_equal(sb_tree_depth(9, 1), 8);
    assert_int_equal(sb_rounds(1), 0);
    assert_int_equal(sb_rounds(2), 1);
    assert_int_equal(sb_rounds(5), 3);
    assert_int_equal(sb_rounds(64), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_span_all_ranks),
        cmocka_unit_test(nomial_trees_span_all_ranks),
        cmocka_unit_test(binomial_trees_are_as_known),
        cmocka_unit_test(arity_makes_chains_and_flat_trees),
        cmocka_unit_test(depths_and_rounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
