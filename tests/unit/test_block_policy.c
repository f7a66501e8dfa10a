/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ways that are compared by blocks of calls: played through calls with given prices. */
#include "testing.h"

#include "base/config.h"
#include "team/block_policy.h"

#include <sys/mman.h>

#define BYTES ((size_t)64 << 10)
#define FIRST 6 /* calls before the first comparison */
#define GLANCE 6
#define LONG 20
#define PAIR (2 * LONG)
#define REST_FIRST 128

/* A rank whose clock goes on by what its calls take. */
typedef struct player {
    sb_block_policy_t policy;
    uint64_t now;
    size_t bytes; /* 0: BYTES */
    uint8_t first, before;
    uint64_t wait;
    bool fresh, evened;
    unsigned changes; /* of way */
} player_t;

/* Calls, of which the other way took some: `price[way]` each, in nanoseconds. */
static unsigned play(player_t *player, unsigned calls, uint64_t safe, uint64_t other)
{
    size_t bytes = player->bytes == 0 ? BYTES : player->bytes;
    unsigned of_other = 0;

    for (unsigned i = 0; i < calls; i++) {
        sb_block_ways_t ways = {
            .count = 2, .first = player->first, .wait = player->wait, .fresh = player->fresh};
        uint8_t way = sb_block_choose(&player->policy, bytes, ways, player->now);
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
    assert_int_equal(play(&player, FIRST, 1000, 100), 0);
    assert_int_equal(play(&player, GLANCE, 1000, 100), GLANCE);
}

/* What needs memory first is compared when the calls have taken enough for that. */
static void waits_for_what_costs_first(void **state)
{
    player_t player = {.first = 1, .wait = 20000};

    (void)state;
    assert_int_equal(play(&player, 22, 500, 1000), 22);
    assert_int_equal(play(&player, 2 * GLANCE, 500, 1000), GLANCE);
    assert_int_equal(play(&player, REST_FIRST, 500, 1000), 0);
}

/* What is far better is taken within the first twenty calls: the second block agrees. */
static void takes_soon_what_is_far_better(void **state)
{
    player_t player = {0};

    (void)state;
    play(&player, FIRST + 2 * GLANCE, 1000, 500);
    assert_int_equal(play(&player, REST_FIRST, 1000, 500), REST_FIRST);
}

/* A program that makes a hundred calls has most of them in the way that is faster by a sixth. */
static void takes_early_what_is_clearly_better(void **state)
{
    player_t player = {0};

    (void)state;
    assert_true(play(&player, 110, 1000, 850) >= 90);
}

/* Of three ways that is compared first which is named. */
static void begins_with_the_rival(void **state)
{
    static const uint64_t price[3] = {1000, 1500, 850};
    static const sb_block_ways_t ways = {.count = 3, .rival = 2};
    sb_block_policy_t policy = {0};
    unsigned taken[3] = {0};
    uint64_t now = 0;

    (void)state;
    for (unsigned i = 0; i < 110; i++) {
        uint8_t way = sb_block_choose(&policy, BYTES, ways, now);
        now += price[way];
        taken[way]++;
    }
    assert_int_equal(taken[1], 0);
    assert_true(taken[2] >= 90);
}

static void takes_the_way_that_is_faster(void **state)
{
    player_t player = {0};

    (void)state;
    play(&player, FIRST + GLANCE + 2 * PAIR, 1000, 900);
    assert_int_equal(play(&player, REST_FIRST, 1000, 900), REST_FIRST);
}

/* Where others run ahead every other call finds all done: neither way is taken for that. */
static void counts_what_calls_take_together(void **state)
{
    player_t player = {0};
    unsigned of_other = 0;

    (void)state;
    for (unsigned call = 0; call < 4000; call++) {
        uint8_t way =
            sb_block_choose(&player.policy, BYTES, (sb_block_ways_t){.count = 2}, player.now);
        uint64_t staged = call % 4 == 0 ? 3000 : 10;
        player.now += way == 0 ? staged : 1000;
        of_other += way;
    }
    assert_true(of_other < 4000 / 16);
}

/* The clock is read where something begins or ends alone, and what is chosen is the same. */
static void reads_the_clock_seldom(void **state)
{
    sb_block_policy_t seldom = {0}, always = {0};
    const sb_block_ways_t ways = {.count = 2};
    enum { CALLS = 4000 };
    uint64_t now = 1;
    unsigned read = 0;

    (void)state;
    for (unsigned call = 0; call < CALLS; call++) {
        bool looks = sb_block_looks(&seldom, BYTES);
        uint8_t way = sb_block_choose(&seldom, BYTES, ways, looks ? now : 0);
        assert_int_equal(way, sb_block_choose(&always, BYTES, ways, now));
        read += looks;
        now += way == 0 ? 1000 : 930 + call % 7;
    }
    assert_true(read < CALLS / 3);
}

/* A loop is shorter by a tenth, but who decides waits in its calls for the others. */
static void counts_what_who_decides_waits(void **state)
{
    player_t player = {0};

    (void)state;
    sb_block_took(&player.policy, BYTES, 0, 100);
    sb_block_took(&player.policy, BYTES, 1, 300);
    assert_true(play(&player, 4000, 1000, 900) < 4000 / 16);
}

/* Likewise of a way that was taken before: the first one needs no gain. */
static void takes_back_the_way_that_waits_for_nobody(void **state)
{
    player_t player = {0};

    (void)state;
    play(&player, FIRST + GLANCE + 2 * PAIR, 1000, 900);
    sb_block_took(&player.policy, BYTES, 0, 100);
    sb_block_took(&player.policy, BYTES, 1, 220);
    play(&player, 2000, 1000, 900);
    assert_int_equal(play(&player, REST_FIRST / 2, 1000, 900), 0);
}

/* What is known is given up: the other way is compared within the next calls. */
static void compares_anew_at_once(void **state)
{
    player_t player = {0};

    (void)state;
    play(&player, 8000, 1000, 1100);
    sb_block_renew(&player.policy);
    play(&player, FIRST + GLANCE + 2 * PAIR, 1000, 900);
    assert_int_equal(play(&player, REST_FIRST / 2, 1000, 900), REST_FIRST / 2);
}

static void keeps_the_safe_way_for_a_small_gain(void **state)
{
    player_t player = {0};

    (void)state;
    play(&player, 2000, 1000, 970);
    assert_int_equal(play(&player, REST_FIRST, 1000, 970), 0);
}

static void takes_a_small_gain_in_other_buffers(void **state)
{
    player_t player = {.fresh = true};

    (void)state;
    play(&player, 2000, 1000, 970);
    assert_true(play(&player, 8000, 1000, 970) > 7200);
}

/* Calls of which the other way took some: beside its price one has what has changed since the last
 * round through a program's buffers, when their lines were left by the other way. */
static unsigned play_round(player_t *player, unsigned calls, const uint64_t price[2],
                           const uint64_t after_other[2])
{
    enum { BUFFERS = 240 };
    static uint8_t left[BUFFERS];
    unsigned of_other = 0;

    for (unsigned i = 0; i < calls; i++) {
        uint8_t way = sb_block_choose(&player->policy, BYTES,
                                      (sb_block_ways_t){.count = 2, .fresh = true}, player->now);
        uint8_t *buffer = &left[i % BUFFERS];
        player->now += *buffer == way ? price[way] : after_other[way];
        *buffer = way;
        of_other += way;
    }
    return of_other;
}

/* In a block the other way finds lines as the usual one has left them. In use it is the faster one
 * by a twentieth; or the slower one. */
static void finds_out_in_use_what_blocks_hide(void **state)
{
    static const uint64_t faster[2] = {1000, 950}, not_seen[2] = {1060, 1010};
    static const uint64_t slower[2] = {1000, 1050}, not_told[2] = {1000, 990};
    player_t gains = {0}, loses = {0};

    (void)state;
    play_round(&gains, 2400, faster, not_seen);
    assert_true(play_round(&gains, 24000, faster, not_seen) > 22000);
    play_round(&loses, 2400, slower, not_told);
    assert_true(play_round(&loses, 24000, slower, not_told) < 4000);
}

/* A page of the other way's is mapped with each of its first calls, which take longer for it: soon
 * all are, and that way is the faster one. */
static void does_not_count_calls_that_map_pages(void **state)
{
    enum { PAGES = 400, PAGE = 4096 };
    char *memory = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sb_block_policy_t policy = {0};
    uint64_t now = 0;
    unsigned of_other = 0;

    (void)state;
    assert_ptr_not_equal(memory, MAP_FAILED);
    madvise(memory, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
    for (unsigned call = 0; call < 2000; call++) {
        uint8_t way =
            sb_block_choose(&policy, BYTES, (sb_block_ways_t){.count = 2, .fresh = true}, now);
        now += way == 0 ? 1000 : of_other < PAGES ? 1200 : 900;
        if (way == 1 && of_other < PAGES)
            memory[(size_t)of_other * PAGE] = 1;
        of_other += way;
    }
    assert_true(of_other > 1200);
    munmap(memory, (size_t)PAGES * PAGE);
}

/* Something else runs in one block: it takes another one to decide. */
static void one_block_decides_nothing(void **state)
{
    player_t slow = {0}, fast = {0};

    (void)state;
    play(&slow, FIRST, 1000, 900);
    slow.now += 30000;
    play(&slow, 2 * GLANCE + LONG - 5, 1000, 900);
    slow.now += 4000;
    play(&slow, 2 * PAIR - LONG + 5, 1000, 900);
    assert_int_equal(play(&slow, 100, 1000, 900), 100);
    play(&fast, FIRST, 1000, 1600);
    fast.now += 30000;
    play(&fast, 2 * GLANCE + 2 * PAIR, 1000, 1600);
    assert_int_equal(play(&fast, 100, 1000, 1600), 0);
}

/* Who makes a hundred calls spends few of them on what is slow. */
static void gives_up_at_once_what_is_hopeless(void **state)
{
    player_t player = {0}, near = {0};

    (void)state;
    assert_int_equal(play(&player, 110, 1000, 5000), 3);
    assert_int_equal(play(&near, 110, 1000, 1600), GLANCE);
}

/* Not much slower: no reason for long blocks in a program that has just begun. */
static void does_not_insist_early(void **state)
{
    player_t player = {0};

    (void)state;
    assert_int_equal(play(&player, 110, 1000, 1200), GLANCE);
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

/* Processors have come to be far from each other: whatever the rest, it is seen at once. */
static void follows_at_once_where_calls_take_longer(void **state)
{
    player_t player = {0};

    (void)state;
    play(&player, 20000, 120, 240);
    play(&player, 32, 570, 250);
    assert_int_equal(play(&player, 100, 570, 250), 100);
}

/* Calls that take now this, now that time, by either way: less and less is tried for that. */
static void gets_used_to_changes(void **state)
{
    player_t player = {0};
    unsigned of_other = 0;

    (void)state;
    for (unsigned i = 0; i < 400; i++) {
        of_other += play(&player, 50, 1000, 1600);
        of_other += play(&player, 50, 3000, 4800);
    }
    assert_true(of_other < 40000 / 64);
}

/* Longer messages begin with what was faster for shorter ones, where that is the other way. */
static void longer_messages_go_on_from_shorter_ones(void **state)
{
    player_t player = {.bytes = BYTES / 2}, sized = {.bytes = BYTES / 2};

    (void)state;
    play(&player, 100, 1000, 500);
    player.bytes = BYTES;
    assert_int_equal(play(&player, FIRST, 1000, 500), FIRST);
    play(&sized, 100, 500, 1000);
    sized.bytes = BYTES;
    sized.first = 1;
    assert_int_equal(play(&sized, FIRST, 500, 1000), FIRST);
}

/* Others run ahead: what they have given before they saw the choice goes as before, so many calls
 * of it. The other way is faster from then on. */
static void waits_for_those_who_are_ahead(void **state)
{
    enum { AHEAD = 40, CALLS = 2000 };
    player_t player = {0};
    unsigned left = 0, of_other = 0;

    (void)state;
    for (unsigned call = 0; call < CALLS; call++) {
        uint8_t way =
            sb_block_choose(&player.policy, BYTES, (sb_block_ways_t){.count = 2}, player.now);
        left = way == 0 ? AHEAD : left - (left > 0);
        bool went = way == 1 && left == 0;
        player.now += went ? 700 : 1000;
        if (went != (way == 1))
            sb_block_lag(&player.policy, BYTES, player.now);
        of_other += went;
    }
    assert_true(of_other > CALLS / 2);
}

/* Who never does as is said is not waited for. */
static void does_not_wait_for_those_who_never_follow(void **state)
{
    player_t player = {0};
    unsigned of_other = 0;

    (void)state;
    for (unsigned call = 0; call < 4000; call++) {
        uint8_t way =
            sb_block_choose(&player.policy, BYTES, (sb_block_ways_t){.count = 2}, player.now);
        player.now += 1000;
        if (way == 1)
            sb_block_lag(&player.policy, BYTES, player.now);
        of_other += way;
    }
    assert_true(of_other < 4000 / 2);
}

/* Two ways that are as fast as each other: comparisons end, and stay far apart. */
static void does_not_go_to_and_fro(void **state)
{
    player_t player = {0};

    (void)state;
    play(&player, 4000, 1000, 1000);
    player.changes = 0;
    play(&player, 40000, 1000, 1000);
    assert_true(player.changes < 40000 / 2048 * 6 + 6);
}

/* Of three ways the fastest is found, whichever it is, and found again. */
static void compares_several_ways(void **state)
{
    static const uint64_t prices[3][3] = {{1000, 800, 500}, {500, 1000, 1600}, {1000, 300, 400}};
    static const uint8_t best[3] = {2, 0, 1};
    sb_block_policy_t policy = {0};
    uint64_t now = 0;

    (void)state;
    for (unsigned phase = 0; phase < 3; phase++) {
        unsigned of_best = 0;
        for (unsigned i = 0; i < 30000; i++) {
            uint8_t way = sb_block_choose(&policy, BYTES, (sb_block_ways_t){.count = 3}, now);
            assert_true(way < 3);
            now += prices[phase][way];
            of_best += i >= 20000 && way == best[phase];
        }
        assert_true(of_best > 9000);
    }
}

/* A program that does something else now and then: the other way, which is slower by a tenth, wins
 * nothing where that falls into blocks of the usual one. */
static void pauses_decide_nothing(void **state)
{
    (void)state;
    for (unsigned every = 17; every < 120; every += 6) {
        player_t player = {0};
        unsigned of_other = 0;
        for (unsigned i = 0; i < 4000; i++) {
            of_other += play(&player, 1, 1000, 1100);
            player.now += i % every == 0 ? 1000000 : 0;
        }
        assert_true(of_other < 4000 / 4);
    }
}

/* One that is faster by a fifth is found, and found again, though long pauses fall into blocks of
 * either. */
static void pauses_hide_nothing(void **state)
{
    (void)state;
    for (unsigned every = 30; every <= 100; every += 7) {
        player_t player = {0};
        unsigned of_other = 0;
        for (unsigned i = 0; i < 60; i++) {
            unsigned used = play(&player, every, 1000, 800);
            of_other += i >= 20 ? used : 0;
            player.now += 3000 * (uint64_t)every;
        }
        assert_true(of_other >= 40 * every * 9 / 10);
    }
}

/* A glance that the program has spent elsewhere is soon made up for. */
static void a_pause_puts_nothing_off(void **state)
{
    player_t player = {0};

    (void)state;
    play(&player, FIRST + GLANCE, 1000, 1200);
    while (play(&player, 1, 1000, 1200) == 0)
        ;
    player.now += 1000000;
    play(&player, 2 * REST_FIRST + 2 * FIRST + 2 * GLANCE, 1000, 600);
    assert_int_equal(play(&player, REST_FIRST / 2, 1000, 600), REST_FIRST / 2);
}

/* Calls of both lengths, `row` of one after each other; how many went the other way, which takes so
 * many tenths of the time. */
static unsigned play_lengths(unsigned calls, unsigned row, uint64_t tenths)
{
    player_t player = {0};
    unsigned of_other = 0;

    for (unsigned call = 0; call < calls; call++) {
        player.bytes = call / row % 2 == 0 ? (size_t)512 << 20 : (size_t)8 << 20;
        uint64_t ns = player.bytes / 10;
        of_other += play(&player, 1, ns, ns * tenths / 10);
    }
    return of_other;
}

/* The last class of sizes has no end: short messages by one way are not taken for a gain, and where
 * all blocks have as many of them the faster way is found. */
static void blocks_of_other_lengths_decide_nothing(void **state)
{
    enum { CALLS = 1200 };

    (void)state;
    for (unsigned row = 3; row < 40; row++)
        assert_true(play_lengths(CALLS, row, 12) < CALLS / 6);
    assert_true(play_lengths(CALLS, 1, 8) > CALLS - CALLS / 8);
    assert_true(play_lengths(CALLS, 1, 12) < CALLS / 8);
}

/* What is being measured when a call goes otherwise is no block. */
static void an_interruption_ends_a_comparison(void **state)
{
    player_t player = {0};

    (void)state;
    play(&player, FIRST, 1000, 100);
    assert_int_equal(play(&player, 2, 1000, 100), 2);
    sb_block_interrupt(&player.policy, BYTES);
    assert_false(sb_block_compares(&player.policy, BYTES));
    assert_int_equal(play(&player, FIRST, 1000, 100), 0);
    assert_int_equal(play(&player, 1, 1000, 100), 1);
}

/* A call that takes so long inside, and has so long between it and the next one. */
static uint8_t play_told(player_t *player, uint64_t inside, uint64_t slower, uint64_t between)
{
    const sb_block_ways_t ways = {.count = 2, .first = player->first, .evened = player->evened};
    uint8_t way = sb_block_choose(&player->policy, BYTES, ways, player->now);

    player->now += way == 0 ? inside : slower;
    sb_block_ended(&player->policy, player->now);
    player->now += between;
    return way;
}

/* A benchmark: some calls, then as many of another library, which take long. Returns how many of
 * 400 went the other way. */
static unsigned play_turns(player_t *player, unsigned every, uint64_t usual, uint64_t other)
{
    unsigned of_other = 0;

    for (unsigned i = 0; i < 400; i++)
        of_other += play_told(player, usual, other, 600 + (i % every == 0 ? 2000 * every : 0));
    return of_other;
}

/* Some of what is measured has two turns of that library in it and some has one: the slower way is
 * not taken. */
static void another_library_by_turns_decides_nothing(void **state)
{
    (void)state;
    for (unsigned every = 2; every <= 7; every++) {
        player_t player = {0}, evened = {.evened = true};
        assert_true(play_turns(&player, every, 600, 1000) <= 400 / 10);
        assert_true(play_turns(&evened, every, 600, 1000) <= 400 / 4);
    }
}

/* Nor is the faster way given up that a class begins with, or the other one kept for that, where
 * what comes between calls is evened. */
static void another_library_by_turns_hides_nothing(void **state)
{
    (void)state;
    for (unsigned every = 2; every <= 7; every++) {
        player_t begins = {.evened = true, .first = 1}, finds = {.evened = true};
        assert_true(play_turns(&begins, every, 2000, 700) >= 400 * 9 / 10);
        assert_true(play_turns(&finds, every, 2000, 700) >= 400 * 3 / 4);
    }
}

/* What comes between all calls alike keeps nothing from being compared. */
static void what_comes_between_all_calls_hides_nothing(void **state)
{
    (void)state;
    for (unsigned evened = 0; evened <= 1; evened++) {
        player_t player = {.evened = evened != 0};
        unsigned of_other = 0;
        for (unsigned i = 0; i < 400; i++)
            of_other += play_told(&player, 1000, 500, 2000);
        assert_true(of_other >= 400 * 3 / 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_library_by_turns_decides_nothing),
        cmocka_unit_test(another_library_by_turns_hides_nothing),
        cmocka_unit_test(what_comes_between_all_calls_hides_nothing),
        cmocka_unit_test(pauses_decide_nothing),
        cmocka_unit_test(pauses_hide_nothing),
        cmocka_unit_test(a_pause_puts_nothing_off),
        cmocka_unit_test(blocks_of_other_lengths_decide_nothing),
        cmocka_unit_test(an_interruption_ends_a_comparison),
        cmocka_unit_test(starts_with_the_safe_way),
        cmocka_unit_test(waits_for_what_costs_first),
        cmocka_unit_test(takes_soon_what_is_far_better),
        cmocka_unit_test(takes_early_what_is_clearly_better),
        cmocka_unit_test(begins_with_the_rival),
        cmocka_unit_test(takes_the_way_that_is_faster),
        cmocka_unit_test(counts_what_calls_take_together),
        cmocka_unit_test(reads_the_clock_seldom),
        cmocka_unit_test(counts_what_who_decides_waits),
        cmocka_unit_test(takes_back_the_way_that_waits_for_nobody),
        cmocka_unit_test(compares_anew_at_once),
        cmocka_unit_test(keeps_the_safe_way_for_a_small_gain),
        cmocka_unit_test(takes_a_small_gain_in_other_buffers),
        cmocka_unit_test(finds_out_in_use_what_blocks_hide),
        cmocka_unit_test(does_not_count_calls_that_map_pages),
        cmocka_unit_test(one_block_decides_nothing),
        cmocka_unit_test(gives_up_at_once_what_is_hopeless),
        cmocka_unit_test(does_not_insist_early),
        cmocka_unit_test(the_slower_way_costs_little),
        cmocka_unit_test(follows_a_machine_that_changes),
        cmocka_unit_test(follows_at_once_where_calls_take_longer),
        cmocka_unit_test(gets_used_to_changes),
        cmocka_unit_test(longer_messages_go_on_from_shorter_ones),
        cmocka_unit_test(waits_for_those_who_are_ahead),
        cmocka_unit_test(does_not_wait_for_those_who_never_follow),
        cmocka_unit_test(does_not_go_to_and_fro),
        cmocka_unit_test(compares_several_ways),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
