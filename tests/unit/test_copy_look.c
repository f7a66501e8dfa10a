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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_piece_is_copied_again_at_once)};

    return cmocka_run_group_tests_name("copy look", tests, NULL, NULL);
}
