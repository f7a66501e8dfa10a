/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ways that are compared by blocks of calls: played through calls with given prices. */
#include "testing.h"

#include "base/config.h"
#include "team/block_policy.h"

#define BYTES ((size_t)64 << 10)
#define FIRST 8 /* calls before the first comparison */
#define BLOCK 20
#define PAIR (2 * BLOCK)
#define COMPARISON (2 * PAIR)

/* A rank whose clock goes on by what its calls take. */
typedef struct player {
    sb_block_policy_t policy;
    uint64_t now;
    uint8_t before;
    unsigned changes; /* of way */
} player_t;

/* Calls, of which the other way took some: `price[way]` each, in nanoseconds. */
static unsigned play(player_t *player, unsigned calls, uint64_t safe, uint64_t other)
{
    unsigned of_other = 0;

    for (unsigned i = 0; i < calls; i++) {
        uint8_t way = sb_block_choose(&player->policy, BYTES, player->now);
        player->now += way == 0 ? safe : other;
        player->changes += way != player->before;
        player->before = way;
        of_other += way;
    }
    return of_other;
}

static void starts_with_the_safe_way(void **state)
{
    player_t player = {0};

    (void)state;
    assert_int_equal(play(&player, FIRST + BLOCK, 1000, 100), 0);
    assert_int_equal(play(&player, BLOCK, 1000, 100), BLOCK);
}

static void takes_the_way_that_is_faster(void **state)
{
    player_t player = {0};

    (void)state;
    play(&player, FIRST + COMPARISON, 1000, 500);
    assert_int_equal(play(&player, 200, 1000, 500), 200);
}

/* Where others run ahead every other call finds all done: neither way is taken for that. */
static void counts_what_calls_take_together(void **state)
{
    player_t player = {0};
    unsigned of_other = 0;

    (void)state;
    for (unsigned call = 0; call < 4000; call++) {
        uint8_t way = sb_block_choose(&player.policy, BYTES, player.now);
        uint64_t staged = call % 4 == 0 ? 3000 : 10;
        player.now += way == 0 ? staged : 1000;
        of_other += way;
    }
    assert_true(of_other < 4000 / 16);
}

static void keeps_the_safe_way_for_a_small_gain(void **state)
{
    player_t player = {0};

    (void)state;
    play(&player, FIRST + COMPARISON, 1000, 970);
    assert_int_equal(play(&player, 200, 1000, 970), 0);
}

/* Something else runs in one block: two of three pairs decide. */
static void one_block_decides_nothing(void **state)
{
    player_t slow = {0}, fast = {0};

    (void)state;
    play(&slow, FIRST + BLOCK - 1, 1000, 600);
    play(&slow, 1, 1000, 600);
    slow.now += 1;
    play(&slow, BLOCK - 1, 1000, 600);
    slow.now += 3000;
    play(&slow, 2 * PAIR + 1, 1000, 600);
    assert_int_equal(play(&slow, 200, 1000, 600), 200);
    play(&fast, FIRST + BLOCK - 1, 1000, 1600);
    fast.now += 30000;
    play(&fast, 2 * PAIR + BLOCK + 1, 1000, 1600);
    assert_int_equal(play(&fast, 100, 1000, 1600), 0);
}

static void gives_up_what_is_hopeless(void **state)
{
    player_t player = {0};

    (void)state;
    assert_int_equal(play(&player, FIRST + PAIR + 60, 1000, 5000), BLOCK);
}

/* A 64th of the time, of a way that is four times as slow, when all has settled. */
static void the_slower_way_costs_little(void **state)
{
    player_t player = {0};

    (void)state;
    play(&player, 20000, 1000, 4000);
    uint64_t before = player.now;
    play(&player, 20000, 1000, 4000);
    assert_true(player.now - before < UINT64_C(20000000) * 102 / 100);
}

static void follows_a_machine_that_changes(void **state)
{
    player_t player = {0};

    (void)state;
    play(&player, 4000, 1000, 500);
    play(&player, 20000, 500, 1000);
    assert_true(play(&player, 4000, 500, 1000) < 400);
    play(&player, 20000, 1000, 500);
    assert_true(play(&player, 4000, 1000, 500) > 3600);
}

/* Two ways that are as fast as each other: comparisons end, and stay far apart. */
static void does_not_go_to_and_fro(void **state)
{
    player_t player = {0};

    (void)state;
    play(&player, 4000, 1000, 1000);
    player.changes = 0;
    play(&player, 40000, 1000, 1000);
    assert_true(player.changes < 40000 / (32 * PAIR) * 4 + 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_with_the_safe_way),
        cmocka_unit_test(takes_the_way_that_is_faster),
        cmocka_unit_test(counts_what_calls_take_together),
        cmocka_unit_test(keeps_the_safe_way_for_a_small_gain),
        cmocka_unit_test(one_block_decides_nothing),
        cmocka_unit_test(gives_up_what_is_hopeless),
        cmocka_unit_test(the_slower_way_costs_little),
        cmocka_unit_test(follows_a_machine_that_changes),
        cmocka_unit_test(does_not_go_to_and_fro),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
