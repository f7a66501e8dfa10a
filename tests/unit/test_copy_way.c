/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way of copying a process takes by what its copies took: played with given times. */
#include "testing.h"

#include "machine/real/copy_way.h"

#define BYTES ((size_t)100000)

/* Of copies by each way, in nanoseconds, and what happens to them. */
typedef struct prices {
    uint64_t first, second;
    uint64_t other;  /* more for every other copy: its data is not in caches */
    unsigned spoilt; /* one copy of so many takes a hundred times as long; 0: none */
} prices_t;

/* Does so many copies. Returns how many went by the second way. */
static unsigned copy(sb_way_t *way, const prices_t *prices, unsigned copies)
{
    unsigned second = 0;

    for (unsigned i = 0; i < copies; i++) {
        sb_way_choice_t choice = sb_way_next(way);
        uint64_t ns = choice.second ? prices->second : prices->first;
        ns += i % 2 * prices->other;
        if (prices->spoilt > 0 && i % prices->spoilt == 0)
            ns *= 100;
        second += choice.second;
        if (choice.timed)
            sb_way_record(way, choice, BYTES, ns);
    }
    return second;
}

static void the_faster_way_is_taken(void **state)
{
    const prices_t first = {1000, 1100, 0, 0}, second = {1000, 900, 0, 0};
    sb_way_t way = {0};

    (void)state;
    assert_in_range(copy(&way, &first, 10000), 1, 10000 / 50);
    sb_way_t other = {0};
    assert_in_range(copy(&other, &second, 10000), 10000 - 10000 / 50, 9999);
}

static void few_copies_are_enough(void **state)
{
    const prices_t second = {1000, 900, 0, 0};
    sb_way_t way = {0};

    (void)state;
    copy(&way, &second, SB_WAY_TRIED * SB_WAY_LEAD);
    assert_int_equal(copy(&way, &second, SB_WAY_REST), SB_WAY_REST);
}

static void it_is_seen_that_the_other_way_has_become_faster(void **state)
{
    const prices_t first = {1000, 1500, 0, 0}, second = {1500, 1000, 0, 0};
    sb_way_t way = {0};

    (void)state;
    copy(&way, &first, 1000);
    copy(&way, &second, 1000);
    assert_in_range(copy(&way, &second, 1000), 950, 999);
    copy(&way, &first, 1000);
    assert_in_range(copy(&way, &first, 1000), 1, 50);
}

/* Each way is known by then: trials that find the same again and again become rare. */
static void what_stays_known_is_seldom_tried(void **state)
{
    const prices_t first = {1000, 1500, 0, 0}, second = {1500, 1000, 0, 0};
    sb_way_t way = {0};

    (void)state;
    copy(&way, &first, 10000);
    assert_in_range(copy(&way, &first, 10000), 1, 10000 / 500);
    /* And the other one becomes the faster: it takes one rest to see it. */
    copy(&way, &second, SB_WAY_REST_MOST + SB_WAY_TRIED * 2 * SB_WAY_LEAD);
    assert_int_equal(copy(&way, &second, SB_WAY_REST / 2), SB_WAY_REST / 2);
}

/* Does copies to the end of the next trial. */
static void copy_to_trial(sb_way_t *way, const prices_t *prices)
{
    sb_way_choice_t choice;

    do {
        choice = sb_way_next(way);
        if (choice.timed)
            sb_way_record(way, choice, BYTES, choice.second ? prices->second : prices->first);
    } while (!choice.last);
}

/* Of many that were won: the choice stays, and trials follow until it is settled again. */
static void one_lost_trial_turns_nothing(void **state)
{
    const prices_t first = {1000, 1500, 0, 0}, second = {1500, 1000, 0, 0};
    sb_way_t way = {0}, other = {0};

    (void)state;
    copy(&way, &first, 10000);
    copy_to_trial(&way, &second);
    assert_int_equal(copy(&way, &first, SB_WAY_REST), SB_WAY_TRIED / 2);
    copy(&other, &second, 10000);
    copy_to_trial(&other, &first);
    assert_int_equal(copy(&other, &second, SB_WAY_REST), SB_WAY_REST - SB_WAY_TRIED / 2);
}

/* What is as long or half as long again is another class, and the last one has no end. */
static void classes_are_of_like_sizes(void **state)
{
    (void)state;
    assert_int_equal(sb_way_class(SB_COPY_LONG), 0);
    assert_int_equal(sb_way_class(SB_COPY_LONG / 2 * 3 - 1), 0);
    assert_int_equal(sb_way_class(SB_COPY_LONG / 2 * 3), 1);
    assert_int_equal(sb_way_class(2 * SB_COPY_LONG), 2);
    assert_int_equal(sb_way_class(SIZE_MAX / 4), SB_WAY_CLASSES - 1);
}

/* What is beside in its page, on either side, and within a line. */
static void what_is_beside_is_told(void **state)
{
    static char pages[3 * SB_PAGE];
    char *from = pages + SB_PAGE + 16;

    (void)state;
    for (ptrdiff_t apart = -(ptrdiff_t)SB_PAGE; apart < (ptrdiff_t)SB_PAGE; apart++) {
        ptrdiff_t in_page = (apart + (ptrdiff_t)SB_PAGE) % (ptrdiff_t)SB_PAGE;
        ptrdiff_t either = sb_min(in_page, (ptrdiff_t)SB_PAGE - in_page);
        assert_int_equal(sb_way_beside(from + apart, from),
                         either > 0 && either < (ptrdiff_t)SB_LINE);
    }
}

static void every_other_copy_may_take_longer(void **state)
{
    const prices_t first = {1000, 1100, 3000, 0}, second = {1000, 900, 3000, 0};
    sb_way_t way = {0}, other = {0};

    (void)state;
    assert_in_range(copy(&way, &first, 10000), 1, 10000 / 50);
    assert_in_range(copy(&other, &second, 10000), 10000 - 10000 / 50, 9999);
}

static void disturbed_copies_do_not_decide(void **state)
{
    const prices_t first = {1000, 1100, 0, 101}, second = {1000, 900, 0, 101};
    sb_way_t way = {0}, other = {0};

    (void)state;
    assert_in_range(copy(&way, &first, 10000), 1, 10000 / 20);
    assert_in_range(copy(&other, &second, 10000), 10000 - 10000 / 20, 9999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_faster_way_is_taken),
        cmocka_unit_test(few_copies_are_enough),
        cmocka_unit_test(it_is_seen_that_the_other_way_has_become_faster),
        cmocka_unit_test(what_stays_known_is_seldom_tried),
        cmocka_unit_test(one_lost_trial_turns_nothing),
        cmocka_unit_test(classes_are_of_like_sizes),
        cmocka_unit_test(what_is_beside_is_told),
        cmocka_unit_test(every_other_copy_may_take_longer),
        cmocka_unit_test(disturbed_copies_do_not_decide),
    };

    return cmocka_run_group_tests_name("copy_way", tests, NULL, NULL);
}
