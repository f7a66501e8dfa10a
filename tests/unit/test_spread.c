/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that share processors spread over them, and may run afterwards where they might before. */
#include "testing.h"

#include "machine/real/spread.h"
#include "segment/board.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What was asked for last, by the C library's functions; and whether the system would leave a
 * thread more than it has. */
static cpu_set_t asked;
static bool is_bound;

int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set)
{
    memset(set, 0, bytes);
    if (syscall(SYS_sched_getaffinity, process, bytes, set) < 0)
        return -1;
    if (is_bound && CPU_COUNT(&asked) == CPU_SETSIZE)
        *set = asked;
    return 0;
}

int sched_setaffinity(pid_t process, size_t bytes, const cpu_set_t *set)
{
    asked = *set;
    return (int)syscall(SYS_sched_setaffinity, process, bytes, set);
}

enum { RANKS = 8, FEW = 4, PATIENCE_NS = 100000000, TURNS = 50 };

static sb_spread_rank_t ranks[RANKS];
static cpu_set_t two;

static void put(const int *processors)
{
    for (int i = 0; i < RANKS; i++)
        ranks[i] = (sb_spread_rank_t){.place = (uint32_t)(processors[i] + 1), .lately = 100};
}

static int target_of(uint32_t rank, uint32_t looks)
{
    bool full;

    return sb_spread_target(ranks, RANKS, rank, &two, looks, &full);
}

static void test_target(void **state)
{
    const int uneven[RANKS] = {0, 0, 1, 0, 0, 1, 0, 0}, even[RANKS] = {0, 0, 1, 0, 1, 1, 0, 1};
    const int odd[RANKS] = {0, 0, 1, 0, 1, 1, 0, -1};

    (void)state;
    put(uneven);
    assert_int_equal(target_of(7, 0), 1);
    assert_int_equal(target_of(6, 0), -1); /* the last one goes first, */
    assert_int_equal(target_of(6, 1), 1);  /* and who is before it if it stays */
    assert_int_equal(target_of(2, 9), -1);
    put(even);
    assert_int_equal(target_of(7, 9), -1);
    assert_int_equal(target_of(6, 9), -1);
    put(odd); /* with one more the two would change places */
    assert_int_equal(target_of(6, 9), -1);
}

static void test_allowed(void **state)
{
    const int uneven[RANKS] = {3, 3, 1, 3, 3, 1, 3, 3};
    bool full = true;
    cpu_set_t one;

    (void)state;
    put(uneven);
    CPU_ZERO(&one);
    CPU_SET(3, &one);
    assert_int_equal(sb_spread_target(ranks, RANKS, 7, &one, 9, &full), -1);
    assert_false(full);
    CPU_SET(1, &one);
    assert_int_equal(sb_spread_target(ranks, RANKS, 7, &one, 0, &full), 1);
    CPU_SET(2, &one);
    assert_int_equal(sb_spread_target(ranks, RANKS, 7, &one, 0, &full), 2);
}

/* The ranks of two full processors do not go to the same empty one, if there are two. */
static void test_apart(void **state)
{
    const int full[RANKS] = {0, 0, 0, 0, 2, 2, 2, 2};
    cpu_set_t four;

    (void)state;
    put(full);
    CPU_ZERO(&four);
    for (unsigned i = 0; i < 4; i++)
        CPU_SET(i, &four);
    bool seen;
    assert_int_equal(sb_spread_target(ranks, RANKS, 3, &four, 0, &seen), 1);
    assert_int_equal(sb_spread_target(ranks, RANKS, 7, &four, 0, &seen), 3);
}

/* Nobody goes to one that waits much less, but from it. */
static void test_busy(void **state)
{
    const int uneven[RANKS] = {0, 0, 1, 0, 0, 1, 0, 0};

    (void)state;
    put(uneven);
    ranks[2].lately = 24;
    assert_int_equal(target_of(7, 9), -1);
    ranks[2].lately = 26;
    assert_int_equal(target_of(7, 9), 1);
    ranks[0].lately = 0;
    assert_int_equal(target_of(7, 9), 1);
}

/* Puts this process on one processor, and lets it run on all of them again. */
static void meet(int processor, const cpu_set_t *allowed)
{
    cpu_set_t only;

    CPU_ZERO(&only);
    CPU_SET((unsigned)processor, &only);
    (void)sched_setaffinity(0, sizeof only, &only);
    (void)sched_setaffinity(0, sizeof *allowed, allowed);
}

/* SOBOR_TEST_SECONDS: none takes longer where nothing is wrong. */
static int turns(void)
{
    const char *most = getenv("SOBOR_TEST_SECONDS");

    return most == NULL ? TURNS : atoi(most) * (1000000000 / PATIENCE_NS);
}

/* A rank of a job that is on a board. `done`: one has moved. */
static int rank_of(const sb_job_t *job, sb_word32_t *done, int processor, const cpu_set_t *allowed)
{
    cpu_set_t after;

    if (!sb_board_join(job, false))
        return 1;
    for (int turn = turns(); turn > 0 && *done == 0; turn--) {
        meet(processor, allowed);
        uint64_t began = sb_now_ns();
        while (sb_now_ns() - began < PATIENCE_NS && *done == 0)
            sb_give_processor();
        if (sb_spread_moves() > 0)
            *done = 1;
    }
    sb_board_tell(NULL, 0); /* which takes the name away, should the others not all have met here */
    bool same = sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&after, allowed);
    /* Whom the system leaves no more has what the system leaves it, also later on. */
    bool right = sb_spread_moves() == 0 ||
                 (is_bound ? CPU_EQUAL(&asked, allowed) : CPU_COUNT(&asked) == CPU_SETSIZE);
    return same && right && *done != 0 ? 0 : 1;
}

/* Four processes that meet on one processor, though they may run on others: one goes. */
static void let_meet(void)
{
    cpu_set_t allowed;
    sb_word32_t *done =
        mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sb_job_t job = {.key = (uint64_t)getpid(), .size = FEW, .local = FEW};
    int processor = sched_getcpu(), failed = 0;

    assert_true(done != MAP_FAILED);
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    for (; job.rank < FEW; job.rank++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(rank_of(&job, done, processor, &allowed));
    }
    for (uint32_t rank = 0; rank < FEW; rank++) {
        int status;
        assert_true(wait(&status) > 0);
        failed += status != 0;
    }
    assert_int_equal(failed, 0);
    munmap(done, sizeof *done);
}

/* Whether this process may run on less than what the system leaves it. */
static bool runs_bound(void)
{
    cpu_set_t before, after, all;

    memset(&all, 0xff, sizeof all);
    bool known = sched_getaffinity(0, sizeof before, &before) == 0 &&
                 sched_setaffinity(0, sizeof all, &all) == 0 &&
                 sched_getaffinity(0, sizeof after, &after) == 0 &&
                 sched_setaffinity(0, sizeof before, &before) == 0;
    return known && !CPU_EQUAL(&before, &after);
}

static void test_moves(void **state)
{
    cpu_set_t allowed;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    if (CPU_COUNT(&allowed) < 2)
        LEAVE_OUT("one processor alone");
    is_bound = runs_bound();
    let_meet();
    is_bound = true;
    let_meet();
    is_bound = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_target), cmocka_unit_test(test_allowed), cmocka_unit_test(test_apart),
        cmocka_unit_test(test_busy),   cmocka_unit_test(test_moves),
    };

    CPU_ZERO(&two);
    CPU_SET(0, &two);
    CPU_SET(1, &two);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
