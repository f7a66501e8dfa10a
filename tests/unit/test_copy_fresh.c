/* SPDX-License-Identifier: BSD-3-Clause */
/* Which copies go past the caches by what they took: played with given times. */
#include "testing.h"

#include "machine/primitive.h"

static uint64_t now, usual_ns, past_ns;
static unsigned past;

static uint64_t given_time(void)
{
    return now;
}

static void copy_given(void *restrict to, const void *restrict from, size_t bytes)
{
    memcpy(to, from, bytes);
    now += usual_ns;
}

static void copy_past(void *restrict to, const void *restrict from, size_t bytes)
{
    memcpy(to, from, bytes);
    now += past_ns;
    past++;
}

#define sb_now_ns given_time
#define sb_copy copy_given
#define sb_copy_far copy_given
#define sb_copy_streaming_far copy_past
#include "machine/real/copy_fresh.c"

#define PIECE ((size_t)32 << 10)

static char from[PIECE], to[PIECE];

/* Copies so many pieces of a whole. Returns how many went past the caches. */
static unsigned copy(unsigned copies, size_t bytes, size_t whole, bool far)
{
    past = 0;
    for (unsigned i = 0; i < copies; i++)
        sb_copy_fresh(to, from, bytes, whole, far);
    return past;
}

static int start(void **state)
{
    (void)state;
    memset(ways, 0, sizeof ways);
    return 0;
}

static void what_takes_less_goes_past_the_caches(void **state)
{
    (void)state;
    usual_ns = 1000;
    past_ns = 850;
    copy(SB_WAY_TRIED * SB_WAY_LEAD, PIECE, 16 * PIECE, false);
    assert_int_equal(copy(SB_WAY_REST, PIECE, 16 * PIECE, false), SB_WAY_REST);
}

/* Who reads it waits for memory: that is not worth a small gain. */
static void what_takes_hardly_less_does_not(void **state)
{
    (void)state;
    usual_ns = 1000;
    past_ns = 960;
    assert_in_range(copy(10000, PIECE, 16 * PIECE, false), 1, 10000 / 50);
}

/* Pieces are of one length, whatever they are of, and what another core has written comes from it.
 */
static void each_length_and_kind_finds_its_own(void **state)
{
    (void)state;
    usual_ns = 1000;
    past_ns = 1500;
    copy(1000, PIECE, 2 * PIECE, false);
    copy(1000, PIECE, 16 * PIECE, true);
    past_ns = 700;
    copy(SB_WAY_TRIED * SB_WAY_LEAD, PIECE, 16 * PIECE, false);
    assert_int_equal(copy(SB_WAY_REST, PIECE, 16 * PIECE, false), SB_WAY_REST);
    past_ns = 1500;
    assert_in_range(copy(1000, PIECE, 2 * PIECE, false), 0, 20);
    assert_in_range(copy(1000, PIECE, 16 * PIECE, true), 0, 20);
}

/* The last piece of a message may be a line: what it took says nothing of the others. */
static void a_short_rest_decides_nothing(void **state)
{
    (void)state;
    usual_ns = 1000;
    past_ns = 700;
    for (unsigned i = 0; i < 100; i++) {
        copy(15, PIECE, 16 * PIECE, true);
        past_ns = 5000;
        assert_int_equal(copy(1, SB_LINE, 16 * PIECE, true), 0);
        past_ns = 700;
    }
    assert_in_range(copy(100, PIECE, 16 * PIECE, true), 98, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_takes_less_goes_past_the_caches, start),
        cmocka_unit_test_setup(what_takes_hardly_less_does_not, start),
        cmocka_unit_test_setup(each_length_and_kind_finds_its_own, start),
        cmocka_unit_test_setup(a_short_rest_decides_nothing, start),
    };

    return cmocka_run_group_tests_name("copy_fresh", tests, NULL, NULL);
}
