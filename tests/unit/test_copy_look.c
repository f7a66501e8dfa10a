/* SPDX-License-Identifier: BSD-3-Clause */
/* The look at the two ways of copying, which is part of the file that it chooses in. */
#include "machine/real/copy.c"

#include "testing.h"

static char *last;
static size_t again, all;

static void note_target(void *restrict to, const void *restrict from, size_t bytes)
{
    memcpy(to, from, bytes);
    again += to == last;
    last = to;
    all++;
}

/* A piece that is copied again at once is in the first cache, where those of a call are not. */
static void no_piece_is_copied_again_at_once(void **state)
{
    char *pages = calloc(2, PAIR);

    (void)state;
    for (size_t bytes = SB_COPY_LONG; bytes <= TRIAL_MOST; bytes *= 2)
        assert_true(shortest_time(note_target, pages, pages + TRIAL_MOST + SB_PAGE, bytes) <
                    UINT64_MAX);
    assert_true(all > 0);
    assert_int_equal(again, 0);
    free(pages);
}

static bool goes_over(const char *to, size_t bytes)
{
    return (uintptr_t)to / SB_PAGE != ((uintptr_t)to + bytes - 1) / SB_PAGE;
}

/* As where a store over the end of a page takes its time. */
static void slow_over_pages(void *restrict to, const void *restrict from, size_t bytes)
{
    memcpy(to, from, bytes);
    for (uint64_t began = sb_now_ns(); goes_over(to, bytes) && sb_now_ns() - began < 1000;)
        continue;
}

static void never(void *restrict to, const void *restrict from, size_t bytes)
{
    (void)to;
    (void)from;
    (void)bytes;
}

/* So much slower or faster that no disturbance makes it another finding. */
static void a_library_that_is_slow_over_pages_is_found(void **state)
{
    char *pages = sb_pages_take(2 * PAIR);

    (void)state;
    assert_non_null(pages);
    assert_true(are_trapped(slow_over_pages, pages));
    assert_false(are_trapped(never, pages));
    sb_pages_give(pages, 2 * PAIR);
}

static void what_is_trapped_is_copied_narrowly(void **state)
{
    (void)state;
    char *at = (char *)(16 * SB_PAGE);

    trapped_most = BRIEF_MOST;
    assert_true(is_trapped(at - 16, 256));
    assert_true(is_trapped(at - 64, 80));
    assert_true(is_trapped(at - 496, 512));
    assert_false(is_trapped(at - 64, 128)); /* whole lines */
    assert_false(is_trapped(at - 8, 256));  /* vectors of 16 bytes go over the end too */
    assert_false(is_trapped(at - 16, 528));
    trapped_most = 0;
    assert_false(is_trapped(at - 16, 256));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_piece_is_copied_again_at_once),
        cmocka_unit_test(a_library_that_is_slow_over_pages_is_found),
        cmocka_unit_test(what_is_trapped_is_copied_narrowly),
    };

    return cmocka_run_group_tests_name("copy look", tests, NULL, NULL);
}
