/* SPDX-License-Identifier: BSD-3-Clause */
#include "testing.h"

#include "base/shelf.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { BYTES = 4096 + 64, COUNT = 200 };

static char *place[COUNT];

static void fill(int i)
{
    memset(place[i], i + 1, BYTES);
}

static void assert_holds_its_own(int i)
{
    for (int at = 0; at < BYTES; at++)
        assert_int_equal((unsigned char)place[i][at], (unsigned char)(i + 1));
}

static bool was_given(const char *one, char *const *given)
{
    for (int i = 0; i < COUNT; i += 3) {
        if (given[i] == one)
            return true;
    }
    return false;
}

/* More than two shelves of them; what was given back is taken again before a new shelf is. */
static void places_are_apart_and_used_again(void **state)
{
    static sb_shelves_t shelves = SB_SHELVES(BYTES); /* what is kept is not lost */
    char *given[COUNT];

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        place[i] = sb_shelves_take(&shelves);
        assert_non_null(place[i]);
        assert_int_equal((uintptr_t)place[i] % 64, 0);
        fill(i);
    }
    memcpy(given, place, sizeof given);
    for (int i = 0; i < COUNT; i += 3)
        sb_shelves_give(&shelves, place[i]);
    struct sb_shelf *newest = shelves.newest;
    for (int i = 0; i < COUNT; i += 3) {
        place[i] = sb_shelves_take(&shelves);
        fill(i);
    }
    assert_ptr_equal(shelves.newest, newest);
    for (int i = 0; i < COUNT; i++)
        assert_holds_its_own(i);
    /* A shelf has places that were never taken: those may come first. */
    int again = 0;
    for (int i = 0; i < COUNT; i += 3)
        again += was_given(place[i], given);
    assert_true(again > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_are_apart_and_used_again)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
