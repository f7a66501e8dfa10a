/* SPDX-License-Identifier: BSD-3-Clause */
/* What waits ask of the kernel: one fence for all sleeps of a wait, and no turns past patience. */
#include "testing.h"

#include "machine/machine.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TURNS = 20, LONGEST_NS = 160000, PATIENCE_NS = 1000000, FEW_YIELDS = 8 };

static struct {
    uint32_t fences;
    uint32_t sleeps;
    uint32_t wakes;
    uint32_t yields;
} asked;

typedef long syscall_t(long number, long a, long b, long c, long d, long e, long f);

/* In place of the C library's: counts. One thread needs no fences. */
long syscall(long number, ...)
{
    syscall_t *usual = (syscall_t *)(uintptr_t)dlsym(RTLD_NEXT, "syscall");
    long argument[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_membarrier) {
        asked.fences += argument[0] == MEMBARRIER_CMD_GLOBAL_EXPEDITED;
        return 0;
    }
    if (number == SYS_futex && (int)argument[1] == FUTEX_WAIT)
        asked.sleeps++;
    if (number == SYS_futex && (int)argument[1] == FUTEX_WAKE)
        asked.wakes++;
    return usual(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                 argument[5]);
}

static useconds_t others_us = PATIENCE_NS / 1000;

/* In place of the C library's: others take their time with the processor. */
int sched_yield(void)
{
    asked.yields++;
    return others_us == 0 ? 0 : usleep(others_us);
}

/* A wait, looked at whenever the rank would let the host make progress or look after its peers. */
typedef struct scene {
    sb_flag_t flag;
    uint32_t turns;
    uint32_t publish_at; /* turn; 0: never */
    uint32_t fail_at;
    uint32_t wanted_at; /* from then on others may want something; 0: never */
    uint32_t uncounted; /* turns at which it was not among the sleepers */
} scene_t;

static sb_word32_t job_sleepers;

/* Relaxed: there is one thread. */
static uint32_t counted(const scene_t *scene)
{
    uint32_t here = sb_load32(&scene->flag.sleepers, SB_RELAXED);

    assert_int_equal(sb_load32(&job_sleepers, SB_RELAXED), here);
    return here;
}

static bool progress(void *context)
{
    scene_t *scene = context;

    scene->uncounted += counted(scene) != 1;
    if (++scene->turns == scene->publish_at)
        sb_flag_publish(&scene->flag, 1);
    return scene->wanted_at != 0 && scene->turns >= scene->wanted_at;
}

static sb_status_t check(void *context)
{
    const scene_t *scene = context;

    return scene->turns == scene->fail_at ? SB_ERR_PEER_DEAD : SB_OK;
}

static sb_waiter_t sleeper(scene_t *scene)
{
    asked.fences = asked.sleeps = asked.wakes = asked.yields = 0;
    return (sb_waiter_t){.bare_spins = 1,
                         .progress_every = 1,
                         .yield = 1,
                         .sleep_longest_ns = LONGEST_NS,
                         .progress = progress,
                         .progress_context = scene,
                         .check = check,
                         .check_context = scene};
}

/* The first turn comes before the first sleep, the last one ends the wait. */
static void one_fence_for_all_sleeps(void **state)
{
    scene_t scene = {.publish_at = TURNS};
    sb_waiter_t waiter = sleeper(&scene);

    (void)state;
    for (uint32_t wait = 1; wait <= 2; wait++) {
        assert_int_equal(sb_flag_wait(&scene.flag, 1, &waiter), SB_OK);
        assert_int_equal(asked.fences, wait);
        assert_int_equal(asked.sleeps, wait * (TURNS - 1));
        assert_int_equal(asked.wakes, wait);
        assert_int_equal(scene.uncounted, wait);
        assert_int_equal(counted(&scene), 0);
        scene.turns = 0;
        sb_store64(&scene.flag.value, 0, SB_RELAXED);
    }
}

/* One whose time awake has no end sleeps once. */
static void who_wakes_stays_awake_for_some_time(void **state)
{
    scene_t scene = {.publish_at = TURNS};
    sb_waiter_t waiter = sleeper(&scene);

    (void)state;
    waiter.awake_ns = UINT64_MAX;
    assert_int_equal(sb_flag_wait(&scene.flag, 1, &waiter), SB_OK);
    assert_int_equal(asked.sleeps, 1);
    assert_int_equal(asked.fences, 1);
    assert_int_equal(scene.uncounted, 1);
}

static sb_status_t check_once_more(void *context)
{
    scene_t *scene = context;

    scene->turns++;
    return check(scene);
}

/* Who serves nobody meanwhile, as on the simulated machine, where each turn is paid for. */
static void who_has_nothing_to_do_sleeps_on(void **state)
{
    scene_t scene = {.fail_at = TURNS};
    sb_waiter_t waiter = sleeper(&scene);

    (void)state;
    waiter.awake_ns = UINT64_MAX;
    waiter.progress = NULL;
    waiter.check = check_once_more;
    assert_int_equal(sb_flag_wait(&scene.flag, 1, &waiter), SB_ERR_PEER_DEAD);
    assert_int_equal(asked.sleeps, TURNS);
}

static void who_is_wanted_stays_awake(void **state)
{
    enum { WANTED_AT = TURNS / 2 };
    scene_t scene = {.publish_at = TURNS, .wanted_at = WANTED_AT};
    sb_waiter_t waiter = sleeper(&scene);

    (void)state;
    waiter.stays_awake = true;
    assert_int_equal(sb_flag_wait(&scene.flag, 1, &waiter), SB_OK);
    assert_int_equal(asked.sleeps, WANTED_AT - 1);
    assert_int_equal(asked.yields, TURNS - WANTED_AT);
    assert_int_equal(counted(&scene), 0);
}

/* Not at every so many looks alone, as soon as it is known. */
static void who_is_wanted_makes_progress_at_each_look(void **state)
{
    enum { EVERY = 3 };
    scene_t scene = {.publish_at = TURNS, .wanted_at = 1};
    sb_waiter_t waiter = sleeper(&scene);

    (void)state;
    waiter.stays_awake = true;
    waiter.progress_every = EVERY;
    waiter.check = NULL; /* which takes a wait of no turns for a failed one */
    waiter.sleep_after_ns = UINT64_MAX;
    assert_int_equal(sb_flag_wait(&scene.flag, 1, &waiter), SB_OK);
    assert_int_equal(asked.yields, EVERY - 1 + TURNS - 1);
    assert_int_equal(asked.sleeps, 0);
}

/* Others that run there would have it for milliseconds each time. */
static void who_is_wanted_keeps_its_own_processor(void **state)
{
    scene_t scene = {.publish_at = TURNS, .wanted_at = 1};
    sb_waiter_t waiter = sleeper(&scene);

    (void)state;
    waiter.stays_awake = true;
    waiter.check = NULL;
    waiter.yield_after_ns = 1;
    assert_int_equal(sb_flag_wait(&scene.flag, 1, &waiter), SB_OK);
    assert_int_equal(asked.sleeps, 0);
    assert_in_range(asked.yields, 0, FEW_YIELDS);
}

static void who_is_to_sleep_does_so_though_wanted(void **state)
{
    scene_t scene = {.publish_at = TURNS, .wanted_at = 1};
    sb_waiter_t waiter = sleeper(&scene);

    (void)state;
    assert_int_equal(sb_flag_wait(&scene.flag, 1, &waiter), SB_OK);
    assert_int_equal(asked.sleeps, TURNS - 1);
    assert_int_equal(asked.yields, 0);
}

static void who_fails_is_no_sleeper(void **state)
{
    scene_t scene = {.fail_at = TURNS};
    sb_waiter_t waiter = sleeper(&scene);

    (void)state;
    assert_int_equal(sb_flag_wait(&scene.flag, 1, &waiter), SB_ERR_PEER_DEAD);
    assert_int_equal(asked.fences, 1);
    assert_int_equal(asked.sleeps, TURNS - 1);
    assert_int_equal(counted(&scene), 0);
    sb_flag_publish(&scene.flag, 1);
    assert_int_equal(asked.wakes, 0);
}

static void who_gives_up_is_no_sleeper(void **state)
{
    scene_t scene = {0};
    sb_waiter_t waiter = sleeper(&scene);

    (void)state;
    assert_false(sb_flag_wait_some(&scene.flag, 1, &waiter, PATIENCE_NS));
    assert_int_equal(counted(&scene), 0);
}

static void who_has_slept_little_asks_nothing(void **state)
{
    scene_t scene = {.publish_at = TURNS};
    sb_waiter_t waiter = sleeper(&scene);

    (void)state;
    waiter.sleep_after_ns = UINT64_MAX;
    assert_int_equal(sb_flag_wait(&scene.flag, 1, &waiter), SB_OK);
    assert_int_equal(asked.fences + asked.sleeps + asked.wakes, 0);
    assert_int_equal(scene.uncounted, TURNS);
}

/* A turn that gives the processor away takes as long as others like. */
static void patience_ends_while_others_run(void **state)
{
    scene_t scene = {0};
    sb_waiter_t waiter = sleeper(&scene);

    (void)state;
    waiter.sleep_after_ns = UINT64_MAX;
    assert_false(sb_flag_wait_some(&scene.flag, 1, &waiter, 2 * PATIENCE_NS / 3));
    assert_true(asked.yields < FEW_YIELDS);
}

static bool publish_when_given(void *context)
{
    scene_t *scene = context;

    if (asked.yields > 0)
        sb_flag_publish(&scene->flag, 1);
    return false;
}

static bool has_been_given(void *context)
{
    (void)context;
    return asked.yields > 0;
}

enum { USUAL_NS = 1000, LONG_US = 3000, LONG_NS = 3000000 };

/* How long a rank waits, which gives its processor away once, for a flag or for what none tells. */
static uint64_t waited_ns(bool for_flag)
{
    scene_t scene = {0};
    sb_waiter_t waiter = sleeper(&scene);

    waiter.progress = publish_when_given;
    waiter.check = NULL;
    waiter.yield_after_ns = USUAL_NS;
    waiter.sleep_after_ns = UINT64_MAX;
    uint64_t began = sb_now_ns();
    assert_int_equal(for_flag ? sb_flag_wait(&scene.flag, 1, &waiter)
                              : sb_wait_for(has_been_given, NULL, &waiter),
                     SB_OK);
    return sb_now_ns() - began;
}

/* Here no processors are known: all processes that can run are too many. */
static void where_many_wait_none_keeps_its_processor(void **state)
{
    (void)state;
    others_us = LONG_US;
    sb_lend_processor();
    assert_int_equal(sb_patience_ns(USUAL_NS), USUAL_NS);
}

enum { FORGETTING_US = 300000 };

/* More processors than there are processes. Of the last waits all is patience: others take nothing.
 */
static void who_gets_its_processor_back_late_keeps_it_as_long(void **state)
{
    (void)state;
    sb_patience_among(UINT32_MAX / 2);
    usleep(FORGETTING_US);
    waited_ns(false);
    others_us = 0;
    assert_true(waited_ns(true) >= LONG_NS);
    assert_true(waited_ns(false) >= LONG_NS);
}

static void what_was_seen_is_forgotten_until_it_is_seen_anew(void **state)
{
    (void)state;
    usleep(FORGETTING_US);
    assert_int_equal(sb_patience_ns(USUAL_NS), USUAL_NS);
    others_us = LONG_US;
    waited_ns(true);
    assert_true(sb_patience_ns(USUAL_NS) >= LONG_NS);
    others_us = PATIENCE_NS / 1000;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_fence_for_all_sleeps),
        cmocka_unit_test(who_wakes_stays_awake_for_some_time),
        cmocka_unit_test(who_has_nothing_to_do_sleeps_on),
        cmocka_unit_test(who_is_wanted_stays_awake),
        cmocka_unit_test(who_is_wanted_makes_progress_at_each_look),
        cmocka_unit_test(who_is_wanted_keeps_its_own_processor),
        cmocka_unit_test(who_is_to_sleep_does_so_though_wanted),
        cmocka_unit_test(who_fails_is_no_sleeper),
        cmocka_unit_test(who_gives_up_is_no_sleeper),
        cmocka_unit_test(who_has_slept_little_asks_nothing),
        cmocka_unit_test(patience_ends_while_others_run),
        cmocka_unit_test(where_many_wait_none_keeps_its_processor),
        cmocka_unit_test(who_gets_its_processor_back_late_keeps_it_as_long),
        cmocka_unit_test(what_was_seen_is_forgotten_until_it_is_seen_anew),
    };

    sb_machine_start();
    sb_sleepers_share(&job_sleepers);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
