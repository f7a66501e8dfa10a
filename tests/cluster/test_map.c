/* SPDX-License-Identifier: BSD-3-Clause */
#include "../unit/testing.h"

#include "cluster/map.h"

#include <string.h>

static sb_map_t make(const char *names, const bool *alone)
{
    uint64_t name[16];
    sb_map_t map;

    for (size_t i = 0; i < strlen(names); i++)
        name[i] = (uint64_t)names[i] << 40;
    assert_int_equal(sb_map_make(&map, name, alone, (uint32_t)strlen(names)), SB_OK);
    return map;
}

/* `nodes`: of each rank, as a digit; `locals` likewise. */
static void expect(const char *names, const bool *alone, const char *nodes, const char *locals,
                   bool contiguous)
{
    sb_map_t map = make(names, alone);

    for (uint32_t rank = 0; rank < map.ranks; rank++) {
        assert_int_equal(map.node_of[rank], nodes[rank] - '0');
        assert_int_equal(map.local_of[rank], locals[rank] - '0');
        assert_int_equal(sb_map_rank(&map, map.node_of[rank], map.local_of[rank]), rank);
    }
    assert_int_equal(map.begin[map.nodes], map.ranks);
    assert_int_equal(map.contiguous, contiguous);
    sb_map_free(&map);
}

static void nodes_are_numbered_by_their_lowest_rank(void **state)
{
    (void)state;
    expect("a", NULL, "0", "0", true);
    expect("zzzz", NULL, "0000", "0123", true);
    expect("zzaaab", NULL, "001112", "010120", true);
    expect("zazaza", NULL, "010101", "001122", false);
    expect("baab", NULL, "0110", "0011", false);
}

static void nodes_without_memory_fall_apart(void **state)
{
    static const bool alone[] = {false, true, true, true, false};

    (void)state;
    expect("abbba", alone, "01230", "00001", false);
    expect("aabbb", (const bool[]){false, false, true, true, true}, "00123", "01000", true);
}

static void sizes_may_differ(void **state)
{
    sb_map_t map = make("abbccc", NULL);

    (void)state;
    assert_int_equal(map.nodes, 3);
    for (uint32_t node = 0; node < 3; node++)
        assert_int_equal(sb_map_size(&map, node), node + 1);
    sb_map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_numbered_by_their_lowest_rank),
        cmocka_unit_test(nodes_without_memory_fall_apart),
        cmocka_unit_test(sizes_may_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
