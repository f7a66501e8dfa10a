/* SPDX-License-Identifier: BSD-3-Clause */
/* The measured choice between modes of copying: played through messages with given prices. */
#include "testing.h"

#include "base/config.h"
#include "team/block_policy.h"
#include "team/copy_policy.h"

#include <sys/mman.h>
#include <time.h>

#define BYTES ((size_t)64 << 10)
/* Messages of a lap, and so of a trial of either mode. */
#define LAP_CACHED 8
#define LAP_NON_TEMPORAL 64
#define TRIAL_CACHED (2 * LAP_CACHED)
#define TRIAL_NON_TEMPORAL (2 * LAP_NON_TEMPORAL)
#define FIRST 8 /* messages before the first trial */

/* Time passes as the tests say, whatever else the processors do: blocks of calls are judged by it.
 */
static uint64_t passed_ns = 1;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = (time_t)(passed_ns / 1000000000u),
                             .tv_nsec = (long)(passed_ns % 1000000000u)};
    return 0;
}

static const size_t laps[2] = {LAP_NON_TEMPORAL * BYTES, LAP_CACHED *BYTES};

/* What a message takes in each mode, in nanoseconds. */
typedef struct prices {
    uint64_t non_temporal;
    uint64_t cached;
} prices_t;

typedef struct counts {
    unsigned of[SB_COPY_WHOLE + 1];
} counts_t;

static sb_copy_policy_t new_policy(void)
{
    return sb_copy_policy(SB_COPY_NON_TEMPORAL, SB_COPY_CACHED, SB_STORES_AUTO);
}

/* Three buffers in turn are new ones each time. */
static sb_copy_choice_t choose(sb_copy_policy_t *policy, size_t bytes)
{
    static const char buffers[3];
    static unsigned turn;

    return sb_copy_choose(policy, bytes, &buffers[turn++ % 3], laps);
}

static counts_t play_size(sb_copy_policy_t *policy, size_t bytes, unsigned messages,
                          prices_t prices)
{
    counts_t counts = {{0}};

    for (unsigned i = 0; i < messages; i++) {
        sb_copy_choice_t choice = choose(policy, bytes);
        counts.of[choice.mode]++;
        if (choice.timed)
            sb_copy_record(policy, &choice,
                           choice.mode == SB_COPY_CACHED ? prices.cached : prices.non_temporal);
    }
    return counts;
}

static counts_t play(sb_copy_policy_t *policy, unsigned messages, prices_t prices)
{
    return play_size(policy, BYTES, messages, prices);
}

static void starts_with_the_safe_mode(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();
    counts_t counts = play(&policy, FIRST, (prices_t){1000, 100});

    assert_int_equal(counts.of[SB_COPY_CACHED], 0);
}

static void takes_the_mode_that_is_faster(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();

    play(&policy, FIRST + TRIAL_CACHED, (prices_t){1000, 500});
    counts_t counts = play(&policy, 200, (prices_t){1000, 500});
    assert_int_equal(counts.of[SB_COPY_NON_TEMPORAL], 0);
}

/* Every class has its first trial after a few messages, however late it comes in a run. */
static void learns_of_a_new_size_at_once(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();

    play_size(&policy, 16 * BYTES, 1000, (prices_t){1000, 500});
    counts_t counts = play(&policy, FIRST + TRIAL_CACHED + 50, (prices_t){1000, 500});
    assert_int_equal(counts.of[SB_COPY_NON_TEMPORAL], FIRST);
}

static void keeps_the_safe_mode_for_a_small_gain(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();

    play(&policy, 2000, (prices_t){1000, 970});
    counts_t counts = play(&policy, 400, (prices_t){1000, 970});
    assert_true(counts.of[SB_COPY_CACHED] <= TRIAL_CACHED);
}

/* The first messages of new memory take long whatever the mode: soon the first trial is repeated.
 */
static void a_misleading_start_is_mended(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();

    play(&policy, FIRST, (prices_t){3000, 3000});
    play(&policy, TRIAL_CACHED + 4 * TRIAL_NON_TEMPORAL, (prices_t){1000, 1400});
    counts_t counts = play(&policy, 200, (prices_t){1000, 1400});
    assert_true(counts.of[SB_COPY_CACHED] <= TRIAL_CACHED);
}

static void breaks_a_bad_trial_off(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();
    counts_t counts = play(&policy, 500, (prices_t){1000, 5000});

    assert_in_range(counts.of[SB_COPY_CACHED], 1, 3);
}

/* Where one mode is far worse, trying it costs less and less: here 4000 for each message more. */
static void bad_trials_become_rare(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();

    play(&policy, 10000, (prices_t){1000, 5000});
    counts_t counts = play(&policy, 10000, (prices_t){1000, 5000});
    assert_in_range(counts.of[SB_COPY_CACHED], 3, 12);
}

static void follows_a_machine_that_changes(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();

    play(&policy, 64, (prices_t){1000, 300});
    play(&policy, 100, (prices_t){1000, 5000});
    counts_t counts = play(&policy, 100, (prices_t){1000, 5000});
    assert_int_equal(counts.of[SB_COPY_CACHED], 0);
    play(&policy, 12000, (prices_t){1000, 300});
    counts = play(&policy, 500, (prices_t){1000, 300});
    assert_true(counts.of[SB_COPY_NON_TEMPORAL] <= TRIAL_NON_TEMPORAL);
}

/* What a trial finds counts, whatever was found before: here cached was far too slow. */
static void a_trial_forgets_the_last_one(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();

    play(&policy, FIRST + TRIAL_CACHED, (prices_t){1000, 1900});
    counts_t counts = play(&policy, 2000, (prices_t){1000, 500});
    assert_true(counts.of[SB_COPY_CACHED] > 1000);
}

/* The first lap of a trial shows memory as the other mode has left it. */
static void the_first_lap_does_not_count(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();

    play(&policy, FIRST, (prices_t){1000, 500});
    play(&policy, LAP_CACHED, (prices_t){1000, 1900});
    play(&policy, LAP_CACHED, (prices_t){1000, 500});
    assert_int_equal(choose(&policy, BYTES).mode, SB_COPY_CACHED);
}

/* Readers that are always late tell nothing: nothing is tried, and few messages are timed. */
static void without_samples_nothing_is_tried(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();
    unsigned timed = 0;

    for (int i = 0; i < 1000; i++) {
        sb_copy_choice_t choice = choose(&policy, BYTES);
        timed += choice.timed;
        assert_int_equal(choice.mode, SB_COPY_NON_TEMPORAL);
    }
    assert_in_range(timed, 100, 150);
}

static void sizes_are_judged_apart(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();

    play(&policy, FIRST + TRIAL_CACHED, (prices_t){1000, 300});
    assert_int_equal(choose(&policy, BYTES).mode, SB_COPY_CACHED);
    assert_int_equal(choose(&policy, 16 * BYTES).mode, SB_COPY_NON_TEMPORAL);
}

/* The last class has no end. Of messages by turns whatever is in use times one kind, and a trial
 * both: a mode that is slower with each of them is not taken, and one that is faster is. */
static void sizes_of_the_last_class_are_told_apart(void **state)
{
    enum { KINDS = 2, MESSAGES = 2000 };
    static const size_t bytes[KINDS] = {(size_t)8 << 20, (size_t)512 << 20};

    (void)state;
    for (unsigned first = 0; first < KINDS; first++) {
        sb_copy_policy_t slower = new_policy(), faster = new_policy();
        unsigned taken = 0, left = 0;
        for (unsigned i = 0; i < MESSAGES; i++) {
            size_t now = bytes[(first + i) % KINDS];
            uint64_t ns = now / 10;
            bool counts = i >= MESSAGES / 10;
            taken +=
                play_size(&slower, now, 1, (prices_t){ns, ns + ns / 5}).of[SB_COPY_CACHED] * counts;
            left +=
                play_size(&faster, now, 1, (prices_t){ns, ns - ns / 5}).of[SB_COPY_NON_TEMPORAL] *
                counts;
        }
        assert_true(taken < MESSAGES / 20);
        assert_true(left < MESSAGES / 20);
    }
}

/* One buffer, or two in turns, are known again; many in turns never are. Sizes are apart. */
static void knows_a_buffer_again(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();
    char buffer[3] = {0};

    assert_false(sb_copy_choose(&policy, BYTES, &buffer[0], laps).again);
    assert_true(sb_copy_choose(&policy, BYTES, &buffer[0], laps).again);
    assert_false(sb_copy_choose(&policy, 16 * BYTES, &buffer[0], laps).again);
    assert_false(sb_copy_choose(&policy, BYTES, &buffer[1], laps).again);
    assert_true(sb_copy_choose(&policy, BYTES, &buffer[0], laps).again);
    assert_true(sb_copy_choose(&policy, BYTES, &buffer[1], laps).again);
    for (int i = 0; i < 6; i++)
        assert_false(sb_copy_choose(&policy, 2 * BYTES, &buffer[i % 3], laps).again);
}

/* What was measured in buffers that are used again says nothing of new ones. */
static void buffers_used_again_are_judged_apart(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();
    char buffer;

    play(&policy, FIRST + TRIAL_CACHED, (prices_t){1000, 300});
    for (int i = 0; i < 2; i++)
        assert_int_equal(sb_copy_choose(&policy, BYTES, &buffer, laps).mode,
                         i == 0 ? SB_COPY_CACHED : SB_COPY_NON_TEMPORAL);
}

/* Plays messages through a policy of three modes, each at its price. */
static counts_t play_priced(sb_copy_policy_t *policy, unsigned messages, const uint64_t *price)
{
    static const size_t three[SB_COPY_MODES] = {8 * BYTES, 8 * BYTES, 8 * BYTES};
    static const char buffers[3];
    counts_t counts = {{0}};

    for (unsigned i = 0; i < messages; i++) {
        sb_copy_choice_t choice = sb_copy_choose(policy, BYTES, &buffers[i % 3], three);
        counts.of[choice.mode]++;
        if (choice.timed)
            sb_copy_record(policy, &choice, price[choice.mode]);
    }
    return counts;
}

/* The counts of so many messages with three modes, whose laps are of so many messages each. */
static counts_t play_laps(unsigned messages, const size_t *lap)
{
    sb_copy_policy_t policy = new_policy();
    static const uint64_t price[SB_COPY_PULLED + 1] = {0, 1000, 1000, 1000, 1000};
    const size_t three[SB_COPY_MODES] = {lap[0] * BYTES, lap[1] * BYTES, lap[2] * BYTES};
    static const char buffers[3];
    counts_t counts = {{0}};

    sb_copy_policy_add(&policy, SB_COPY_PULLED, 0, 0);
    for (unsigned i = 0; i < messages; i++) {
        sb_copy_choice_t choice = sb_copy_choose(&policy, BYTES, &buffers[i % 3], three);
        counts.of[choice.mode]++;
        if (choice.timed)
            sb_copy_record(&policy, &choice, price[choice.mode]);
    }
    return counts;
}

/* A program of a hundred messages has little of a mode that comes after a long trial. */
static void the_shortest_first_trial_comes_first(void **state)
{
    static const size_t lap[] = {16, 16, 1};

    (void)state;
    counts_t counts = play_laps(FIRST + 6, lap);
    assert_int_equal(counts.of[SB_COPY_PULLED], 6);
    assert_int_equal(counts.of[SB_COPY_CACHED], 0);
}

/* Nor has it of one that waits for others' trials, if all are short. */
static void short_first_trials_follow_each_other(void **state)
{
    static const size_t lap[] = {1, 1, 1};

    (void)state;
    counts_t counts = play_laps(FIRST + 12, lap);
    assert_int_equal(counts.of[SB_COPY_PULLED], 6);
    assert_int_equal(counts.of[SB_COPY_CACHED], 6);
}

/* `fast` takes half as long as the others. */
static counts_t play_three(sb_copy_policy_t *policy, unsigned messages, sb_copy_mode_t fast)
{
    uint64_t price[SB_COPY_PULLED + 1] = {0, 1000, 1000, 1000, 1000};

    price[fast] = 500;
    return play_priced(policy, messages, price);
}

/* Each of three modes is found where it is the fastest, also when that changes. */
static void takes_the_fastest_of_three(void **state)
{
    (void)state;
    static const sb_copy_mode_t fast[] = {SB_COPY_CACHED, SB_COPY_NON_TEMPORAL, SB_COPY_PULLED,
                                          SB_COPY_CACHED};
    sb_copy_policy_t policy = sb_copy_policy(SB_COPY_PULLED, SB_COPY_NON_TEMPORAL, SB_STORES_AUTO);

    sb_copy_policy_add(&policy, SB_COPY_CACHED, 0, 0);
    for (size_t i = 0; i < SB_COUNT_OF(fast); i++) {
        play_three(&policy, 3000, fast[i]);
        counts_t counts = play_three(&policy, 1000, fast[i]);
        assert_true(counts.of[fast[i]] > 900);
    }
}

/* Trials are of the modes that are not in use, in turn. */
static void tries_all_in_turn(void **state)
{
    (void)state;
    sb_copy_policy_t policy = sb_copy_policy(SB_COPY_PULLED, SB_COPY_NON_TEMPORAL, SB_STORES_AUTO);

    sb_copy_policy_add(&policy, SB_COPY_CACHED, 0, 0);
    counts_t counts = play_three(&policy, 10000, SB_COPY_PULLED);
    assert_in_range(counts.of[SB_COPY_CACHED], 32, 400);
    assert_in_range(counts.of[SB_COPY_NON_TEMPORAL], 32, 400);
}

/* A mode that is slower, but not so much that its trials are broken off, takes little of all time:
 * here nine tenths of a message more for each. */
static void slower_modes_are_tried_less(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();

    play(&policy, 20000, (prices_t){1000, 1900});
    counts_t counts = play(&policy, 20000, (prices_t){1000, 1900});
    assert_in_range(counts.of[SB_COPY_CACHED], TRIAL_CACHED, 20000 / 64 * 10 / 9 + TRIAL_CACHED);
    play(&policy, 20000, (prices_t){1000, 1250});
    counts = play(&policy, 20000, (prices_t){1000, 1250});
    assert_in_range(counts.of[SB_COPY_CACHED], TRIAL_CACHED, 20000 / 64 + TRIAL_CACHED);
}

/* How many of so many messages are timed, that take so long in the safe mode. */
static unsigned timed_of(unsigned messages, uint64_t ns)
{
    sb_copy_policy_t policy = new_policy();
    unsigned timed = 0;

    play(&policy, 20000, (prices_t){ns, 10 * ns});
    for (unsigned i = 0; i < messages; i++) {
        sb_copy_choice_t choice = choose(&policy, BYTES);
        timed += choice.timed;
        if (choice.timed)
            sb_copy_record(&policy, &choice, choice.mode == SB_COPY_CACHED ? 10 * ns : ns);
    }
    return timed;
}

/* To read the clock costs about as much whatever the message: of short ones fewer are timed. */
static void short_messages_are_timed_seldom(void **state)
{
    (void)state;
    assert_in_range(timed_of(6400, 500), 6400 / 64, 6400 / 64 + 20);
    assert_in_range(timed_of(6400, 2000), 6400 / 16, 6400 / 16 + 20);
    assert_in_range(timed_of(6400, 20000), 6400 / 8, 6400 / 8 + 20);
}

/* Of a mode that takes well longer two samples are enough, and the next trial waits until what it
 * will lose is little: one of four long messages in the first hundred. When it has become faster
 * that is found all the same. */
static void a_longer_mode_costs_few_messages(void **state)
{
    static const size_t one[SB_COPY_MODES] = {BYTES, BYTES};
    sb_copy_policy_t policy = new_policy();
    unsigned cached = 0, late = 0;

    (void)state;
    for (unsigned i = 0; i < 110 + 500; i++) {
        sb_copy_choice_t choice = sb_copy_choose(&policy, BYTES, state, one);
        bool is_cached = choice.mode == SB_COPY_CACHED;
        uint64_t longer = i < 110 ? 1600 : 500;
        cached += is_cached && i < 110;
        late += is_cached && i >= 110 + 300;
        if (choice.timed)
            sb_copy_record(&policy, &choice, is_cached ? longer : 1000);
    }
    assert_int_equal(cached, 4);
    assert_in_range(late, 190, 200);
}

/* A mode for long messages is not tried with others, however fast it would be. */
static void a_mode_may_be_for_long_messages(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();

    sb_copy_policy_add(&policy, SB_COPY_PULLED, BYTES + 1, 0);
    assert_int_equal(play_three(&policy, 1000, SB_COPY_PULLED).of[SB_COPY_PULLED], 0);
    policy.least[2] = BYTES;
    play_three(&policy, 200, SB_COPY_PULLED);
    assert_true(play_three(&policy, 200, SB_COPY_PULLED).of[SB_COPY_PULLED] > 180);
}

/* Nor is one with messages that take less than it costs whatever their length. */
static void a_mode_may_cost_too_much_for_short_times(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();

    sb_copy_policy_add(&policy, SB_COPY_PULLED, 0, 1000);
    assert_int_equal(play_three(&policy, 1000, SB_COPY_PULLED).of[SB_COPY_PULLED], 0);
    policy.floor[2] = 999;
    play_three(&policy, 400, SB_COPY_PULLED);
    assert_true(play_three(&policy, 200, SB_COPY_PULLED).of[SB_COPY_PULLED] > 180);
}

/* The first messages meet new memory. A mode that was left after them is soon tried again, however
 * long they took, and though the trials of another are shorter. */
static void a_misleading_start_of_the_safe_mode_is_mended(void **state)
{
    (void)state;
    static const size_t three[SB_COPY_MODES] = {16 * BYTES, 2 * BYTES, BYTES};
    static const uint64_t price[SB_COPY_PULLED + 1] = {
        [SB_COPY_NON_TEMPORAL] = 700, [SB_COPY_CACHED] = 1000, [SB_COPY_PULLED] = 1200};
    sb_copy_policy_t policy = new_policy();
    unsigned last = 0;

    sb_copy_policy_add(&policy, SB_COPY_PULLED, 0, 0);
    for (unsigned i = 0; i < 4000; i++) {
        sb_copy_choice_t choice = sb_copy_choose(&policy, BYTES, three, three);
        last += i >= 3000 && choice.mode == SB_COPY_NON_TEMPORAL;
        if (choice.timed)
            sb_copy_record(&policy, &choice, i < FIRST ? 10000 : price[choice.mode]);
    }
    assert_true(last > 900);
}

/* Of a mode that is far worse, however well the trials of the third go. */
static void bad_trials_become_rare_among_good_ones(void **state)
{
    (void)state;
    static const uint64_t price[SB_COPY_PULLED + 1] = {
        [SB_COPY_CACHED] = 1000, [SB_COPY_NON_TEMPORAL] = 5000, [SB_COPY_PULLED] = 900};
    sb_copy_policy_t policy = sb_copy_policy(SB_COPY_PULLED, SB_COPY_NON_TEMPORAL, SB_STORES_AUTO);

    sb_copy_policy_add(&policy, SB_COPY_CACHED, 0, 0);
    play_priced(&policy, 10000, price);
    counts_t counts = play_priced(&policy, 10000, price);
    assert_in_range(counts.of[SB_COPY_NON_TEMPORAL], 3, 12);
    assert_in_range(counts.of[SB_COPY_CACHED], 64, 400);
}

/*
 * The first messages in another mode meet the caches of the one before. They say nothing of
 * either: a mode that is a tenth faster is left for trials alone, two or three here, although
 * it is slow behind each of them.
 */
static void what_follows_a_change_does_not_count(void **state)
{
    (void)state;
    static const uint64_t price[SB_COPY_CACHED + 2] = {
        [SB_COPY_CACHED] = 900, [SB_COPY_NON_TEMPORAL] = 1000};
    sb_copy_policy_t policy = new_policy();
    sb_copy_mode_t last = SB_COPY_ANY;
    unsigned same = 0, changes = 0;

    for (unsigned i = 0; i < 20000; i++) {
        sb_copy_choice_t choice = choose(&policy, BYTES);
        same = choice.mode == last ? same + 1 : 0;
        last = choice.mode;
        changes += i >= 10000 && same == 0;
        if (choice.timed)
            sb_copy_record(&policy, &choice, same < 2 ? 1900 : price[choice.mode]);
    }
    assert_in_range(changes, 2, 6);
}

/*
 * Now and then a rank is off its processor. A mode that is a little faster is not left for that: it
 * is in use but for trials, one message of 33 where their laps are short.
 */
static void one_long_sample_changes_nothing(void **state)
{
    (void)state;
    static const size_t short_laps[2] = {LAP_CACHED * BYTES, LAP_CACHED * BYTES};
    static const uint64_t price[SB_COPY_CACHED + 2] = {
        [SB_COPY_CACHED] = 930, [SB_COPY_NON_TEMPORAL] = 1000};
    static const char buffers[3];
    sb_copy_policy_t policy = new_policy();
    unsigned samples = 0, left = 0;

    for (unsigned i = 0; i < 40000; i++) {
        sb_copy_choice_t choice = sb_copy_choose(&policy, BYTES, &buffers[i % 3], short_laps);
        left += i >= 20000 && choice.mode != SB_COPY_CACHED;
        if (choice.timed)
            sb_copy_record(&policy, &choice, price[choice.mode] * (++samples % 16 == 0 ? 3 : 1));
    }
    assert_in_range(left, TRIAL_CACHED, 20000 / 30);
}

/* Pages that a mode needs are paid for by 32 times as much time, of one class; those that there are
 * cost nothing, and a mode that was tried once has had them. */
static void new_memory_has_to_be_earned(void **state)
{
    const unsigned pages = 100, earned = 32 * pages;
    const uint64_t ns = 1000;
    size_t touched = 0;
    sb_copy_policy_t policy = new_policy(), ready = new_policy();

    (void)state;
    policy.touched = ready.touched = &touched;
    policy.page_ns = ready.page_ns = &ns;
    policy.reach[1] = pages * SB_PAGE;
    counts_t counts = play(&policy, earned, (prices_t){ns, ns / 2});
    assert_int_equal(counts.of[SB_COPY_CACHED], 0);
    counts = play_size(&policy, 16 * BYTES, earned / 2, (prices_t){ns, ns / 2});
    assert_int_equal(counts.of[SB_COPY_CACHED], 0);
    counts = play(&policy, 20, (prices_t){ns, ns / 2});
    assert_in_range(counts.of[SB_COPY_CACHED], LAP_CACHED, 20);
    counts = play(&ready, FIRST + TRIAL_CACHED, (prices_t){ns, ns / 2});
    assert_int_equal(counts.of[SB_COPY_CACHED], TRIAL_CACHED);
    touched = pages * SB_PAGE;
    counts = play_size(&policy, 16 * BYTES, FIRST + 2, (prices_t){ns, ns / 2});
    assert_in_range(counts.of[SB_COPY_CACHED], 1, FIRST + 2);
}

/* Messages by the first mode until one goes by the other, through an area and a window that have no
 * pages; `buffers`: as many in turns. */
static unsigned first_by(sb_copy_mode_t other, unsigned area, size_t window, unsigned buffers)
{
    const uint64_t ns = 1000;
    const size_t untouched = 0, both[] = {LAP_NON_TEMPORAL * BYTES, LAP_CACHED * BYTES};
    sb_copy_policy_t policy = sb_copy_policy(SB_COPY_PULLED, other, SB_STORES_AUTO);

    policy.touched = policy.window_touched = &untouched;
    policy.page_ns = &ns;
    policy.reach[1] = area * SB_PAGE;
    policy.window = window;
    for (unsigned messages = 0;; messages++) {
        const char *buffer = (const char *)&policy + messages % buffers;
        sb_copy_choice_t choice = sb_copy_choose(&policy, BYTES, buffer, both);
        if (choice.mode != SB_COPY_PULLED)
            return messages;
        if (choice.timed)
            sb_copy_record(&policy, &choice, ns);
    }
}

/* Ordinary stores take as much of a window as the message is long, where it is long enough, and
 * nothing of an area; and they have to earn an eighth of its pages. */
static void a_window_is_earned_as_far_as_it_is_used(void **state)
{
    const unsigned pages = BYTES / SB_PAGE, area = 40 * pages;

    (void)state;
    for (unsigned buffers = 1; buffers <= 4; buffers += 3) {
        unsigned first = first_by(SB_COPY_CACHED, area, BYTES, buffers);
        assert_in_range(first, 4 * pages, 4 * pages + FIRST);
        first = first_by(SB_COPY_CACHED, area, BYTES - 1, buffers);
        assert_in_range(first, 32 * area, 32 * area + FIRST);
    }
}

/* Stores past the caches do not go through windows. Buffers that are used again have to earn those
 * pages too: what is in caches goes best as it does, most likely. */
static void what_passes_the_caches_needs_no_window(void **state)
{
    const unsigned pages = BYTES / SB_PAGE, area = 40 * pages;
    unsigned fresh = first_by(SB_COPY_NON_TEMPORAL, area, BYTES, 4);
    unsigned again = first_by(SB_COPY_NON_TEMPORAL, area, BYTES, 1);

    (void)state;
    assert_in_range(fresh, 32 * area, 32 * area + FIRST);
    assert_in_range(again, 32 * (area + pages), 32 * (area + pages) + FIRST);
}

/* While its pages come a mode takes long: that is no end of its first trial, but of a later one. */
static void pages_that_come_end_no_trial(void **state)
{
    size_t touched = 0;
    const uint64_t ns = 1000;
    sb_copy_policy_t policy = new_policy();
    unsigned fresh = 0, cached = 0;

    (void)state;
    policy.touched = &touched;
    policy.page_ns = &ns;
    policy.reach[1] = SB_PAGE;
    for (unsigned i = 0; i < 400; i++) {
        sb_copy_choice_t choice = choose(&policy, BYTES);
        uint64_t price = choice.mode != SB_COPY_CACHED ? 1000 : fresh++ < LAP_CACHED ? 5000 : 500;
        cached += i >= 200 && choice.mode == SB_COPY_CACHED;
        if (choice.timed)
            sb_copy_record(&policy, &choice, price);
    }
    assert_in_range(cached, 200 - TRIAL_NON_TEMPORAL, 200);
    counts_t counts = play(&policy, 20000, (prices_t){1000, 5000});
    assert_in_range(counts.of[SB_COPY_CACHED], 1, 60);
}

/* Long messages in one buffer, one of so many bytes a lap, each at its price. */
static counts_t play_long(sb_copy_policy_t *policy, size_t bytes, unsigned messages,
                          const uint64_t *price)
{
    const size_t one[SB_COPY_MODES] = {bytes, bytes, bytes};
    counts_t counts = {{0}};

    for (unsigned i = 0; i < messages; i++) {
        sb_copy_choice_t choice = sb_copy_choose(policy, bytes, price, one);
        counts.of[choice.mode]++;
        if (choice.timed)
            sb_copy_record(policy, &choice, price[choice.mode]);
    }
    return counts;
}

/* What shorter messages have found of modes that are far worse holds for longer ones until so much
 * time has gone by that a trial is little of it. Of one that costs something whatever the length
 * only the rest grows. */
static void longer_messages_learn_from_shorter_ones(void **state)
{
    static const uint64_t shorter[SB_COPY_PULLED + 1] = {
        [SB_COPY_NON_TEMPORAL] = 3000, [SB_COPY_CACHED] = 9000, [SB_COPY_PULLED] = 6000};
    static const uint64_t longer[SB_COPY_PULLED + 1] = {
        [SB_COPY_NON_TEMPORAL] = 12000, [SB_COPY_CACHED] = 36000, [SB_COPY_PULLED] = 14000};
    sb_copy_policy_t policy = new_policy();

    (void)state;
    sb_copy_policy_add(&policy, SB_COPY_PULLED, 0, 2900);
    play_long(&policy, BYTES, 1000, shorter);
    counts_t counts = play_long(&policy, 4 * BYTES, 120, longer);
    assert_int_equal(counts.of[SB_COPY_CACHED], 0);
    assert_in_range(counts.of[SB_COPY_PULLED], 1, 24);
    counts = play_long(&policy, 4 * BYTES, 2000, longer);
    assert_in_range(counts.of[SB_COPY_CACHED], 1, 20);
}

/* However many modes are slower, trials of all together take little of the time of a class: one of
 * four messages in the first 150, not one of each mode. */
static void modes_share_what_trials_may_lose(void **state)
{
    static const uint64_t shorter[SB_COPY_PULLED + 1] = {
        [SB_COPY_NON_TEMPORAL] = 1000, [SB_COPY_CACHED] = 1600, [SB_COPY_PULLED] = 1600};
    static const uint64_t longer[SB_COPY_PULLED + 1] = {
        [SB_COPY_NON_TEMPORAL] = 4000, [SB_COPY_CACHED] = 6400, [SB_COPY_PULLED] = 6400};
    sb_copy_policy_t policy = new_policy();

    (void)state;
    sb_copy_policy_add(&policy, SB_COPY_PULLED, 0, 0);
    play_long(&policy, BYTES, 1000, shorter);
    counts_t counts = play_long(&policy, 4 * BYTES, 150, longer);
    assert_int_equal(counts.of[SB_COPY_CACHED] + counts.of[SB_COPY_PULLED], 4);
    counts = play_long(&policy, 4 * BYTES, 2000, longer);
    assert_in_range(counts.of[SB_COPY_CACHED], 4, 40);
    assert_in_range(counts.of[SB_COPY_PULLED], 4, 40);
}

/* Messages of which the first in another mode meets what the one before has left in caches. */
static unsigned play_changes(sb_copy_policy_t *policy, size_t bytes, unsigned messages, uint64_t ns)
{
    static sb_copy_mode_t last;
    const size_t one[SB_COPY_MODES] = {bytes, bytes};
    unsigned cached = 0;

    for (unsigned i = 0; i < messages; i++) {
        sb_copy_choice_t choice = sb_copy_choose(policy, bytes, one, one);
        bool is_cached = choice.mode == SB_COPY_CACHED;
        uint64_t took = choice.mode != last ? 3 * ns : is_cached ? ns + ns / 10 : ns;
        last = choice.mode;
        cached += is_cached;
        if (choice.timed)
            sb_copy_record(policy, &choice, took);
    }
    return cached;
}

/* A trial costs more than what its messages take later, at its beginning and when it is over: here
 * four messages and a half, of which there may be one in 144. */
static void what_a_trial_cost_is_known_of_the_next(void **state)
{
    sb_copy_policy_t policy = new_policy();

    (void)state;
    play_changes(&policy, BYTES, 1000, 1000);
    assert_int_equal(play_changes(&policy, 4 * BYTES, 120, 4000), 0);
    assert_in_range(play_changes(&policy, 4 * BYTES, 2000, 4000), 6, 90);
}

/* Where the usual mode has come to take far longer than its bytes say, others are tried at once. */
static void what_shorter_messages_found_ends_where_caches_do(void **state)
{
    static const uint64_t shorter[SB_COPY_PULLED + 1] = {
        [SB_COPY_CACHED] = 1000, [SB_COPY_NON_TEMPORAL] = 2000};
    static const uint64_t longer[SB_COPY_PULLED + 1] = {
        [SB_COPY_CACHED] = 40000, [SB_COPY_NON_TEMPORAL] = 8000};
    sb_copy_policy_t policy = sb_copy_policy(SB_COPY_CACHED, SB_COPY_NON_TEMPORAL, SB_STORES_AUTO);

    (void)state;
    play_long(&policy, BYTES, 1000, shorter);
    counts_t counts = play_long(&policy, 4 * BYTES, FIRST + 40, longer);
    assert_in_range(counts.of[SB_COPY_NON_TEMPORAL], 30, 40);
}

/* Where shorter messages were best by the kernel longer ones begin so, and what was slower by the
 * byte is not tried until that is little of all time. */
static void longer_messages_begin_by_the_kernel(void **state)
{
    static const uint64_t shorter[SB_COPY_PULLED + 1] = {
        [SB_COPY_NON_TEMPORAL] = 2000, [SB_COPY_CACHED] = 3000, [SB_COPY_PULLED] = 1000};
    static const uint64_t longer[SB_COPY_PULLED + 1] = {
        [SB_COPY_NON_TEMPORAL] = 8000, [SB_COPY_CACHED] = 12000, [SB_COPY_PULLED] = 4000};
    static const uint64_t turned[SB_COPY_PULLED + 1] = {
        [SB_COPY_NON_TEMPORAL] = 1000, [SB_COPY_CACHED] = 12000, [SB_COPY_PULLED] = 4000};
    sb_copy_policy_t policy = new_policy();

    (void)state;
    sb_copy_policy_add(&policy, SB_COPY_PULLED, 0, 0);
    play_long(&policy, BYTES, 200, shorter);
    counts_t counts = play_long(&policy, 4 * BYTES, 100, longer);
    assert_int_equal(counts.of[SB_COPY_PULLED], 100);
    play_long(&policy, 4 * BYTES, 2000, turned);
    counts = play_long(&policy, 4 * BYTES, 100, turned);
    assert_true(counts.of[SB_COPY_NON_TEMPORAL] > 90);
}

/* One trial by the kernel that something else ran in does not put it off for all longer messages:
 * what still shorter ones took says as much. */
static void one_long_trial_by_the_kernel_is_no_end(void **state)
{
    static const uint64_t shortest[SB_COPY_PULLED + 1] = {
        [SB_COPY_NON_TEMPORAL] = 2000, [SB_COPY_CACHED] = 1000, [SB_COPY_PULLED] = 1400};
    static const uint64_t disturbed[SB_COPY_PULLED + 1] = {
        [SB_COPY_NON_TEMPORAL] = 4000, [SB_COPY_CACHED] = 2000, [SB_COPY_PULLED] = 30000};
    static const uint64_t longer[SB_COPY_PULLED + 1] = {
        [SB_COPY_NON_TEMPORAL] = 8000, [SB_COPY_CACHED] = 4000, [SB_COPY_PULLED] = 3000};
    sb_copy_policy_t policy = new_policy();

    (void)state;
    sb_copy_policy_add(&policy, SB_COPY_PULLED, 0, 0);
    play_long(&policy, BYTES, 400, shortest);
    play_long(&policy, 2 * BYTES, 200, disturbed);
    counts_t counts = play_long(&policy, 4 * BYTES, 200, longer);
    assert_true(counts.of[SB_COPY_PULLED] > 50);
}

/* What was best out of caches is no way for longer ones to begin. */
static void longer_messages_do_not_begin_out_of_caches(void **state)
{
    static const uint64_t price[SB_COPY_PULLED + 1] = {
        [SB_COPY_NON_TEMPORAL] = 2000, [SB_COPY_CACHED] = 1000, [SB_COPY_PULLED] = 3000};
    sb_copy_policy_t policy = new_policy();

    (void)state;
    sb_copy_policy_add(&policy, SB_COPY_PULLED, 0, 0);
    play_long(&policy, BYTES, 200, price);
    counts_t counts = play_long(&policy, 4 * BYTES, FIRST, price);
    assert_int_equal(counts.of[SB_COPY_NON_TEMPORAL], FIRST);
}

/* What all messages take together pays for new memory. */
static void all_messages_earn_memory(void **state)
{
    const uint64_t ns = 1000;
    sb_copy_policy_t policy = new_policy();

    (void)state;
    policy.page_ns = &ns;
    assert_false(sb_copy_may_touch(&policy, 20 * SB_PAGE));
    play(&policy, 400, (prices_t){1000, 1200});
    assert_false(sb_copy_may_touch(&policy, 20 * SB_PAGE));
    play_size(&policy, 4 * BYTES, 400, (prices_t){1000, 1200});
    assert_true(sb_copy_may_touch(&policy, 20 * SB_PAGE));
    assert_false(sb_copy_may_touch(&policy, 30 * SB_PAGE));
}

static void small_messages_are_cached(void **state)
{
    (void)state;
    sb_copy_policy_t policy = new_policy();
    counts_t counts = play_size(&policy, SB_COPY_LEAST - 1, 100, (prices_t){1000, 3000});

    assert_int_equal(counts.of[SB_COPY_CACHED], 100);
}

/* A setting decides for ever, and nothing is timed. Where the kernel may copy, that is
 * "cached". */
static void a_setting_is_obeyed(void **state)
{
    (void)state;
    static const struct {
        sb_copy_mode_t safe, other, expected;
        uint32_t stores;
    } cases[] = {
        {SB_COPY_NON_TEMPORAL, SB_COPY_CACHED, SB_COPY_CACHED, SB_STORES_CACHED},
        {SB_COPY_NON_TEMPORAL, SB_COPY_CACHED, SB_COPY_NON_TEMPORAL, SB_STORES_STREAMING},
        {SB_COPY_PULLED, SB_COPY_NON_TEMPORAL, SB_COPY_PULLED, SB_STORES_CACHED},
        {SB_COPY_PULLED, SB_COPY_NON_TEMPORAL, SB_COPY_NON_TEMPORAL, SB_STORES_STREAMING},
    };

    for (size_t i = 0; i < SB_COUNT_OF(cases); i++) {
        sb_copy_policy_t policy = sb_copy_policy(cases[i].safe, cases[i].other, cases[i].stores);
        sb_copy_choice_t choice = choose(&policy, BYTES);
        assert_int_equal(choice.mode, cases[i].expected);
        assert_false(choice.timed);
    }
}

static bool shares_all(const void *base, size_t bytes)
{
    return base != NULL && bytes > 0;
}

static bool shares_none(const void *base, size_t bytes)
{
    return base == NULL && bytes == 0;
}

/* Of messages that blocks of calls decide about: what a call takes, by loads or not, and what the
 * program takes between two. */
typedef struct loop {
    sb_copy_policy_t policy;
    sb_block_policy_t blocks[2];
    sb_heap_t heap;
    uint64_t call[3];
    uint64_t between[3];
    const void *buffer;
} loop_t;

static void set_up_loop(loop_t *loop, bool shared)
{
    *loop = (loop_t){.policy = new_policy(), .buffer = loop};
    loop->heap.may_share = shared ? shares_all : shares_none;
    sb_copy_policy_add_loads(&loop->policy, SB_COPY_PULLED, 0, 0, loop->blocks);
    sb_heap = &loop->heap;
}

static void wait_for(uint64_t ns)
{
    passed_ns += ns;
}

static counts_t run_loop(loop_t *loop, unsigned messages)
{
    static const size_t four[4] = {2 * BYTES, 2 * BYTES, 2 * BYTES, 2 * BYTES};
    counts_t counts = {{0}};

    for (unsigned i = 0; i < messages; i++) {
        sb_copy_choice_t choice = sb_copy_choose(&loop->policy, BYTES, loop->buffer, four);
        unsigned way = choice.mode == SB_COPY_PULLED ? 1 : choice.mode == SB_COPY_WHOLE ? 2 : 0;
        counts.of[choice.mode]++;
        wait_for(loop->call[way] + loop->between[way]);
        if (choice.timed)
            sb_copy_record(&loop->policy, &choice, loop->call[way]);
    }
    return counts;
}

/* Calls by loads take half as long, but the program waits for its lines after them. */
static void loads_are_judged_with_what_is_between(void **state)
{
    static loop_t loop;
    enum { MESSAGES = 600 };

    (void)state;
    set_up_loop(&loop, true);
    loop.call[0] = 10000;
    loop.call[1] = 5000;
    loop.between[1] = 25000;
    assert_true(run_loop(&loop, MESSAGES).of[SB_COPY_PULLED] < MESSAGES / 8);
    sb_heap = NULL;
}

/* Calls take as long, but the loop less. */
static void loads_are_taken_for_the_whole_loop(void **state)
{
    static loop_t loop;
    enum { MESSAGES = 600 };

    (void)state;
    set_up_loop(&loop, true);
    loop.call[0] = loop.call[1] = 5000;
    loop.between[0] = 25000;
    assert_true(run_loop(&loop, MESSAGES).of[SB_COPY_PULLED] > MESSAGES / 2);
    sb_heap = NULL;
}

/* While messages go by loads those ways that need new pages come to be worth them all the same. */
static void loads_count_for_pages(void **state)
{
    static loop_t loop;
    static const uint64_t page_ns = 5000;
    static const size_t touched = SB_PAGE;
    enum { MESSAGES = 1200, PAGES = 16 };

    (void)state;
    set_up_loop(&loop, true);
    sb_copy_policy_add(&loop.policy, SB_COPY_WIDE, 0, 0);
    loop.policy.reach[loop.policy.modes - 1] = (PAGES + 1) * SB_PAGE;
    loop.policy.touched = &touched;
    loop.policy.page_ns = &page_ns;
    loop.call[0] = loop.call[1] = 5000;
    loop.between[0] = 25000;
    counts_t counts = run_loop(&loop, MESSAGES);
    assert_true(counts.of[SB_COPY_PULLED] > MESSAGES / 2);
    assert_true(counts.of[SB_COPY_WIDE] > 0);
    sb_heap = NULL;
}

/* Other ways get more memory: the first messages through it are slow, and say nothing. */
static void new_pages_belong_to_no_block(void **state)
{
    static const size_t three[3] = {2 * BYTES, 2 * BYTES, 2 * BYTES};
    static loop_t loop;
    enum { MESSAGES = 1200, FEW = 100, TOUCHING = 12 };
    unsigned touching = TOUCHING, by_loads = 0;

    (void)state;
    set_up_loop(&loop, true);
    loop.call[0] = loop.call[1] = 5000;
    loop.between[0] = 25000;
    assert_true(run_loop(&loop, MESSAGES).of[SB_COPY_PULLED] > MESSAGES / 2);
    sb_copy_renew(&loop.policy);
    for (unsigned i = 0; i < 2 * FEW; i++) {
        sb_copy_choice_t choice = sb_copy_choose(&loop.policy, BYTES, loop.buffer, three);
        bool touches = choice.mode != SB_COPY_PULLED && touching > 0;
        if (touches)
            sb_copy_touches(&loop.policy, &choice);
        touching -= touches;
        wait_for(touches ? 50000 : choice.mode == SB_COPY_PULLED ? 10000 : 2000);
        by_loads += i >= FEW && choice.mode == SB_COPY_PULLED;
    }
    assert_true(by_loads < FEW / 4);
    sb_heap = NULL;
}

/* Each call by loads has a page mapped. Such blocks do not count in other buffers each time, where
 * this rank itself reads them. */
static void blocks_that_map_pages_do_not_count(void **state)
{
    enum { MESSAGES = 1000, PAGES = 1000, BUFFERS = 8 };
    static const size_t four[4] = {2 * BYTES, 2 * BYTES, 2 * BYTES, 2 * BYTES};
    static const char buffers[BUFFERS];
    static loop_t loop;
    size_t bytes = (size_t)PAGES * SB_PAGE, mapped = 0;
    char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_ptr_not_equal(pages, MAP_FAILED);
    madvise(pages, bytes, MADV_NOHUGEPAGE);
    set_up_loop(&loop, true);
    loop.policy.reads = true;
    for (unsigned i = 0; i < MESSAGES; i++) {
        const void *buffer = &buffers[i % BUFFERS];
        sb_copy_choice_t choice = sb_copy_choose(&loop.policy, BYTES, buffer, four);
        if (choice.mode == SB_COPY_PULLED)
            pages[mapped++ * SB_PAGE] = 1;
        wait_for(choice.mode == SB_COPY_PULLED ? 12000 : 10000);
        if (choice.timed)
            sb_copy_record(&loop.policy, &choice, 5000);
    }
    assert_true(loop.blocks[false].of[sb_copy_class(BYTES)].mapping > 0);
    munmap(pages, bytes);
    sb_heap = NULL;
}

/* Of two ways by loads both are compared so, and the better one is taken. */
static void two_ways_by_loads_are_judged_alike(void **state)
{
    static loop_t loop;
    enum { MESSAGES = 1200 };

    (void)state;
    for (unsigned better = 0; better < 3; better++) {
        set_up_loop(&loop, true);
        sb_copy_policy_add_loads(&loop.policy, SB_COPY_WHOLE, 0, 0, loop.blocks);
        for (unsigned way = 0; way < 3; way++) {
            loop.call[way] = way == 0 ? 10000 : 5000;
            loop.between[way] = way == better ? 0 : 25000;
        }
        counts_t counts = run_loop(&loop, MESSAGES);
        unsigned by[] = {0, counts.of[SB_COPY_PULLED], counts.of[SB_COPY_WHOLE]};
        if (better == 0)
            assert_true(by[1] + by[2] < MESSAGES / 8);
        else
            assert_true(by[better] > MESSAGES / 2);
    }
    sb_heap = NULL;
}

/* Who gives messages had run ahead: the next ones still go as before, which says nothing of loads.
 * From then on they take half as long. */
static void loads_are_judged_when_they_have_come(void **state)
{
    static const size_t three[3] = {2 * BYTES, 2 * BYTES, 2 * BYTES};
    static loop_t loop;
    enum { MESSAGES = 1600, AHEAD = 40 };
    unsigned left = 0, by_loads = 0;

    (void)state;
    set_up_loop(&loop, true);
    for (unsigned i = 0; i < MESSAGES; i++) {
        sb_copy_choice_t choice = sb_copy_choose(&loop.policy, BYTES, loop.buffer, three);
        left = choice.mode != SB_COPY_PULLED ? AHEAD : left - (left > 0);
        bool went = left == 0;
        wait_for(went ? 5000 : 10000);
        if (choice.timed)
            sb_copy_record(&loop.policy, &choice, 10000);
        sb_copy_went(&loop.policy, &choice, went);
        by_loads += went;
    }
    assert_true(by_loads > MESSAGES / 2);
    sb_heap = NULL;
}

/* Nothing is by loads before the others are known: what is compared is the best of them. */
static void others_are_known_before_loads(void **state)
{
    static loop_t loop;

    (void)state;
    set_up_loop(&loop, true);
    loop.call[0] = loop.call[1] = 2000;
    while (run_loop(&loop, 1).of[SB_COPY_PULLED] == 0)
        ;
    assert_true(loop.policy.of[1][sb_copy_class(BYTES)].ns[0] > 0);
    assert_true(loop.policy.of[1][sb_copy_class(BYTES)].ns[1] > 0);
    sb_heap = NULL;
}

/* What is not shared is copied by the kernel, which calls tell of. */
static void what_is_not_shared_is_judged_by_calls(void **state)
{
    static loop_t loop;
    enum { MESSAGES = 600 };

    (void)state;
    set_up_loop(&loop, false);
    loop.call[0] = 10000;
    loop.call[1] = 5000;
    assert_true(run_loop(&loop, MESSAGES).of[SB_COPY_PULLED] > MESSAGES / 2);
    sb_heap = NULL;
}

/* Whose part may be in caches depends on its own buffers, whoever decides. */
static void all_ranks_know_buffers_that_were_used_before(void **state)
{
    static const char buffers[3];
    const sb_copy_laps_t lap = {65536, 65536};

    (void)state;
    for (uint32_t rank = 0; rank < 2; rank++) {
        sb_copy_call_t call = {
            .policy = sb_copy_policy(SB_COPY_CACHED, SB_COPY_NON_TEMPORAL, SB_STORES_AUTO)};
        for (size_t i = 0; i < 6; i++) {
            sb_copy_begin(&call, rank, 65536, &buffers[i % 3], lap);
            assert_false(call.choice.again);
        }
        sb_copy_begin(&call, rank, 65536, &buffers[1], lap);
        assert_true(call.choice.again);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(starts_with_the_safe_mode),
    cmocka_unit_test(loads_are_judged_with_what_is_between),
    cmocka_unit_test(loads_count_for_pages),
    cmocka_unit_test(new_pages_belong_to_no_block),
    cmocka_unit_test(loads_are_taken_for_the_whole_loop),
    cmocka_unit_test(blocks_that_map_pages_do_not_count),
    cmocka_unit_test(two_ways_by_loads_are_judged_alike),
    cmocka_unit_test(loads_are_judged_when_they_have_come),
    cmocka_unit_test(others_are_known_before_loads),
    cmocka_unit_test(what_is_not_shared_is_judged_by_calls),
    cmocka_unit_test(takes_the_mode_that_is_faster),
    cmocka_unit_test(learns_of_a_new_size_at_once),
    cmocka_unit_test(keeps_the_safe_mode_for_a_small_gain),
    cmocka_unit_test(a_misleading_start_is_mended),
    cmocka_unit_test(breaks_a_bad_trial_off),
    cmocka_unit_test(bad_trials_become_rare),
    cmocka_unit_test(follows_a_machine_that_changes),
    cmocka_unit_test(a_trial_forgets_the_last_one),
    cmocka_unit_test(the_first_lap_does_not_count),
    cmocka_unit_test(without_samples_nothing_is_tried),
    cmocka_unit_test(takes_the_fastest_of_three),
    cmocka_unit_test(tries_all_in_turn),
    cmocka_unit_test(the_shortest_first_trial_comes_first),
    cmocka_unit_test(short_first_trials_follow_each_other),
    cmocka_unit_test(slower_modes_are_tried_less),
    cmocka_unit_test(short_messages_are_timed_seldom),
    cmocka_unit_test(a_longer_mode_costs_few_messages),
    cmocka_unit_test(a_mode_may_be_for_long_messages),
    cmocka_unit_test(a_mode_may_cost_too_much_for_short_times),
    cmocka_unit_test(a_misleading_start_of_the_safe_mode_is_mended),
    cmocka_unit_test(bad_trials_become_rare_among_good_ones),
    cmocka_unit_test(what_follows_a_change_does_not_count),
    cmocka_unit_test(one_long_sample_changes_nothing),
    cmocka_unit_test(sizes_are_judged_apart),
    cmocka_unit_test(sizes_of_the_last_class_are_told_apart),
    cmocka_unit_test(knows_a_buffer_again),
    cmocka_unit_test(buffers_used_again_are_judged_apart),
    cmocka_unit_test(new_memory_has_to_be_earned),
    cmocka_unit_test(a_window_is_earned_as_far_as_it_is_used),
    cmocka_unit_test(what_passes_the_caches_needs_no_window),
    cmocka_unit_test(pages_that_come_end_no_trial),
    cmocka_unit_test(longer_messages_learn_from_shorter_ones),
    cmocka_unit_test(modes_share_what_trials_may_lose),
    cmocka_unit_test(what_a_trial_cost_is_known_of_the_next),
    cmocka_unit_test(what_shorter_messages_found_ends_where_caches_do),
    cmocka_unit_test(longer_messages_begin_by_the_kernel),
    cmocka_unit_test(one_long_trial_by_the_kernel_is_no_end),
    cmocka_unit_test(longer_messages_do_not_begin_out_of_caches),
    cmocka_unit_test(all_messages_earn_memory),
    cmocka_unit_test(small_messages_are_cached),
    cmocka_unit_test(a_setting_is_obeyed),
    cmocka_unit_test(all_ranks_know_buffers_that_were_used_before),
};

int main(void)
{

    return cmocka_run_group_tests(tests, NULL, NULL);
}
