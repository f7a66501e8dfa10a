/* SPDX-License-Identifier: BSD-3-Clause */
/* Which pairs of cores sobor tune measures where there are too many for all of them. */
#include "testing.h"

#include "tools/calibrate.h"

#include <math.h>
#include <stdlib.h>

/* Cores of one cache, 8 each, of one node, 48 each, of two packages: as of an EPYC. */
static double made_up_hop(size_t a, size_t b)
{
    if (a / 8 == b / 8)
        return 25;
    return a / 48 == b / 48 ? 90 : a / 96 == b / 96 ? 110 : 200;
}

static double mean_of_all(size_t cores)
{
    double sum = 0;

    for (size_t b = 1; b < cores; b++) {
        for (size_t a = 0; a < b; a++)
            sum += made_up_hop(a, b);
    }
    return sum / ((double)cores * (double)(cores - 1) / 2);
}

static void each_core_has_so_many_partners(void **state)
{
    static const size_t partners[] = {0, 1, 2, 4, 5, 15, 44};

    (void)state;
    for (size_t i = 0; i < SB_COUNT_OF(partners); i++) {
        size_t all = 0;
        for (size_t b = 1; b < 200; b++) {
            size_t mine = 0;
            for (size_t a = 0; a < b; a++)
                mine += sb_calibration_has_pair(partners[i], a, b);
            assert_int_equal(mine, partners[i] == 0 ? b : sb_min(b, partners[i]));
            assert_true(sb_calibration_has_pair(partners[i], b - 1, b));
            all += mine;
        }
        assert_int_equal(sb_calibration_pairs(partners[i], 200), all);
    }
}

/* Where all are measured it is the mean of all; else near it, for as many cores as there are. */
static void the_measured_stand_for_all(void **state)
{
    enum { CORES = 192 };
    sb_calibration_t calibration = {.count = CORES};

    (void)state;
    calibration.hops = calloc((size_t)CORES * CORES, sizeof *calibration.hops);
    assert_non_null(calibration.hops);
    for (size_t partners = 0; partners < 6; partners += 5) {
        calibration.partners = partners;
        for (size_t b = 1; b < CORES; b++) {
            for (size_t a = 0; a < b; a++)
                calibration.hops[b * CORES + a] =
                    sb_calibration_has_pair(partners, a, b) ? made_up_hop(a, b) : NAN;
        }
        for (size_t cores = 2; cores <= CORES; cores += cores == 2 ? 2 : cores / 2) {
            double mean = sb_calibration_mean_hop(&calibration, cores), all = mean_of_all(cores);
            assert_true(fabs(mean - all) <= (partners == 0 ? 1e-9 : 0.05) * all);
        }
    }
    free(calibration.hops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_core_has_so_many_partners),
        cmocka_unit_test(the_measured_stand_for_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
