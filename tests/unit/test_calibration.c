/* SPDX-License-Identifier: BSD-3-Clause */
/* What a calibration makes of what was measured. */
#include "testing.h"

#include "machine/sim/model.h"
#include "tools/calibrate.h"

static sb_measure_t completed(sb_number_t number, double measured)
{
    sb_calibration_t calibration = {.topology = sb_topology_self()};

    assert_non_null(calibration.topology);
    sb_measured(&calibration, number, measured, "by the test");
    sb_calibration_complete(&calibration);
    return calibration.number[number];
}

static void reads_under_way_are_not_more_than_the_simulator_has(void **state)
{
    sb_measure_t few = completed(SB_NUMBER_READ_OVERLAP, SB_OVERLAP_MOST);
    sb_measure_t many = completed(SB_NUMBER_READ_OVERLAP, SB_OVERLAP_MOST + 2.5);

    (void)state;
    assert_false(few.assumed);
    assert_true(few.value == SB_OVERLAP_MOST);
    assert_true(many.assumed);
    assert_true(many.value == SB_OVERLAP_MOST);
    assert_string_equal(many.source,
                        "assumed: measured 18.5; taken as the most that the simulator has");
}

static void farther_is_not_cheaper(void **state)
{
    sb_calibration_t calibration = {.topology = sb_topology_self()};
    sb_measure_t *number = calibration.number;

    (void)state;
    assert_non_null(calibration.topology);
    sb_measured(&calibration, SB_NUMBER_READ_L2, 30, "by the test");
    sb_measured(&calibration, SB_NUMBER_READ_L2 + 1, 20, "by the test");
    sb_calibration_complete(&calibration);
    assert_true(number[SB_NUMBER_READ_L2 + 1].value == 30);
    assert_true(number[SB_NUMBER_READ_L2 + 1].assumed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_under_way_are_not_more_than_the_simulator_has),
        cmocka_unit_test(farther_is_not_cheaper),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
