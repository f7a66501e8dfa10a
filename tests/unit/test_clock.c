/* SPDX-License-Identifier: BSD-3-Clause */
/* Ticks of the clock of records, told in nanoseconds, lie between readings of the usual clock. */
#include "testing.h"

#include "trace/clock.h"

enum { READINGS = 2000, SPAN_NS = 20000000, NEAR_NS = 5000 };

typedef struct reading {
    uint64_t before, ticks, after;
} reading_t;

static reading_t readings[READINGS];

/* Spread over a time; however long the system interrupts one of them, the three keep their order.
 */
static void read_all(void)
{
    uint64_t began = sb_now_ns();

    for (int i = 0; i < READINGS; i++) {
        while (sb_now_ns() - began < (uint64_t)i * (SPAN_NS / READINGS))
            ;
        readings[i].before = sb_now_ns();
        readings[i].ticks = i % 2 == 0 ? sb_trace_entered() : sb_trace_left();
        readings[i].after = sb_now_ns();
    }
}

static void test_times(void **state)
{
    (void)state;
    sb_trace_clock_begin();
    read_all();
    sb_trace_clock_end();
    for (int i = 0; i < READINGS; i++) {
        uint64_t told = sb_trace_time_ns(readings[i].ticks);
        assert_in_range(told, readings[i].before - NEAR_NS, readings[i].after + NEAR_NS);
    }
}

static void test_lengths(void **state)
{
    const reading_t *first = &readings[0], *last = &readings[READINGS - 1];

    (void)state;
    uint64_t told = sb_trace_length_ns(last->ticks - first->ticks);
    assert_in_range(told, last->before - first->after - NEAR_NS,
                    last->after - first->before + NEAR_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
