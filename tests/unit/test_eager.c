/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for the longest message that leaves alone is led astray by no single trial. */
#include "testing.h"

#include "../../bench/body/eager.h"
#include "base/compiler.h"

#include <stdbool.h>

#define MOST (4 << 20)

/* A network: what leaves it, and which of the trials are wrong. */
typedef struct network {
    int limit;
    int wrong; /* of so many trials the last one; 0: none */
    int trials;
    int largest;
} network_t;

static int try_once(void *context, int bytes)
{
    network_t *network = context;
    bool leaves = bytes <= network->limit;

    network->trials++;
    network->largest = bytes > network->largest ? bytes : network->largest;
    return network->wrong > 0 && network->trials % network->wrong == 0 ? !leaves : leaves;
}

static void check(int limit, int wrong)
{
    network_t network = {.limit = limit, .wrong = wrong};
    int leaves = -1, stays = -1;

    bench_eager_search(try_once, &network, MOST, &leaves, &stays);
    assert_in_range(network.largest, 1, 2 * MOST);
    assert_true(leaves <= limit && stays > limit);
    assert_true(stays - leaves <= 16 || stays - leaves <= leaves / 64);
}

static void the_limit_is_found(void **state)
{
    static const int limits[] = {0, 1, 63, 64, 65, 4096, 12288, 65536, MOST};

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(limits); i++)
        check(limits[i], 0);
}

/* One of every three, or of more: never two for one size. */
static void a_wrong_trial_does_not_count(void **state)
{
    static const int limits[] = {0, 64, 4096, 12288, 65536};

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(limits); i++) {
        for (int wrong = 3; wrong < 12; wrong++)
            check(limits[i], wrong);
    }
}

static int first_is_lost(void *context, int bytes)
{
    int *trials = context;

    return ++*trials > 1 && bytes <= 4096;
}

static void the_first_trial_may_be_wrong(void **state)
{
    int trials = 0, leaves, stays;

    (void)state;
    bench_eager_search(first_is_lost, &trials, MOST, &leaves, &stays);
    assert_in_range(leaves, 4096 - 64, 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_is_found),
        cmocka_unit_test(a_wrong_trial_does_not_count),
        cmocka_unit_test(the_first_trial_may_be_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
