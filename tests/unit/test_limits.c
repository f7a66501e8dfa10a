/* SPDX-License-Identifier: BSD-3-Clause */
/* The loops that the bench takes as limits give right results, in all forms and sizes. */
#include "testing.h"

#include "../../bench/limits/limit.h"
#include "base/compiler.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1 << 20, BUFFERS = 4 * MOST + 8192 /* of a side: what it sends and receives */ };

static const size_t sizes[] = {1, 8, 63, 64, 4096, 4104, 16384, 65536, 300008, MOST};

typedef struct side {
    struct limit limit;
    unsigned char *send, *receive; /* MOST bytes for each rank, 16 bytes behind a page */
} side_t;

static unsigned char byte_of(int rank, size_t bytes, size_t i)
{
    return (unsigned char)((size_t)rank * 7 + bytes * 3 + i % 249);
}

static bool is_from(const unsigned char *at, int rank, size_t bytes, size_t first)
{
    for (size_t i = 0; i < bytes; i++) {
        if (at[i] != byte_of(rank, bytes, first + i))
            return false;
    }
    return true;
}

static void fill(side_t *side, size_t bytes, size_t all)
{
    for (size_t i = 0; i < all; i++)
        side->send[i] = byte_of(side->limit.rank, bytes, i);
}

static bool broadcast_is_right(side_t *side, size_t bytes)
{
    int root = (int)(bytes % 2);

    fill(side, bytes, bytes);
    limit_broadcast(&side->limit, side->send, bytes, root);
    return is_from(side->send, root, bytes, 0);
}

static bool allgather_is_right(side_t *side, size_t bytes)
{
    fill(side, bytes, bytes);
    limit_allgather(&side->limit, side->send, side->receive, bytes);
    return is_from(side->receive, 0, bytes, 0) && is_from(side->receive + bytes, 1, bytes, 0);
}

static bool alltoall_is_right(side_t *side, size_t bytes)
{
    size_t first = (size_t)side->limit.rank * bytes;

    fill(side, bytes, 2 * bytes);
    limit_alltoall(&side->limit, side->send, side->receive, bytes);
    return is_from(side->receive, 0, bytes, first) &&
           is_from(side->receive + bytes, 1, bytes, first);
}

static bool sum_is_right(side_t *side, size_t bytes, enum limit_element element)
{
    bool right = true;

    fill(side, bytes, bytes);
    for (size_t i = 0; i < bytes / sizeof(double) && element == LIMIT_DOUBLE; i++)
        ((double *)(void *)side->send)[i] = byte_of(side->limit.rank, bytes, i);
    for (size_t i = 0; i < bytes / sizeof(float) && element == LIMIT_FLOAT; i++)
        ((float *)(void *)side->send)[i] = byte_of(side->limit.rank, bytes, i);
    limit_allreduce(&side->limit, side->send, side->receive, bytes, element);
    for (size_t i = 0; i < bytes / sizeof(double) && element == LIMIT_DOUBLE; i++)
        right &=
            ((double *)(void *)side->receive)[i] == byte_of(0, bytes, i) + byte_of(1, bytes, i);
    for (size_t i = 0; i < bytes / sizeof(float) && element == LIMIT_FLOAT; i++)
        right &= ((float *)(void *)side->receive)[i] ==
                 (float)(byte_of(0, bytes, i) + byte_of(1, bytes, i));
    for (size_t i = 0; i < bytes && element == LIMIT_BYTE; i++)
        right &= side->receive[i] == (unsigned char)(byte_of(0, bytes, i) + byte_of(1, bytes, i));
    return right;
}

static bool all_is_right(side_t *side)
{
    bool right = true;

    for (size_t i = 0; i < SB_COUNT_OF(sizes) && right; i++) {
        right = broadcast_is_right(side, sizes[i]) && allgather_is_right(side, sizes[i]) &&
                alltoall_is_right(side, sizes[i]) && sum_is_right(side, sizes[i], LIMIT_BYTE) &&
                sum_is_right(side, sizes[i], LIMIT_FLOAT) &&
                sum_is_right(side, sizes[i], LIMIT_DOUBLE);
        limit_barrier(&side->limit);
    }
    return right;
}

/* Memory that both map alike: the buffers are in it. */
static const void *reach(uint64_t address, size_t bytes)
{
    (void)bytes;
    return (const void *)(uintptr_t)address;
}

static void *share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static bool run(struct limit_segment *segment, unsigned char *buffers, int rank,
                enum limit_form form, bool halves)
{
    side_t side = {
        .limit = {.segment = segment, .rank = rank, .form = form, .reach = reach, .halves = halves},
        .send = buffers + (size_t)rank * BUFFERS + 16,
    };

    side.receive = side.send + BUFFERS / 2;
    return all_is_right(&side);
}

static void loops_are_right(enum limit_form form, bool halves)
{
    int status = 0;
    struct limit_segment *segment = share(limit_segment_bytes);
    unsigned char *buffers = share((size_t)2 * BUFFERS);

    limit_begin(segment);
    /* A side that waits for one that gave up ends too. */
    pid_t other = fork();
    alarm(30);
    assert_true(other >= 0);
    if (other == 0)
        _exit(run(segment, buffers, 1, form, halves) ? 0 : 1);
    bool right = run(segment, buffers, 0, form, halves);
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_true(right);
    assert_int_equal(status, 0);
    munmap(segment, limit_segment_bytes);
    munmap(buffers, (size_t)2 * BUFFERS);
}

static void ordinary_loops_are_right(void **state)
{
    (void)state;
    loops_are_right(LIMIT_ORDINARY, false);
}

static void wide_loops_are_right(void **state)
{
    (void)state;
    loops_are_right(LIMIT_WIDE, false);
}

static void non_temporal_loops_are_right(void **state)
{
    (void)state;
    loops_are_right(LIMIT_NON_TEMPORAL, false);
}

static void direct_loops_are_right(void **state)
{
    (void)state;
    loops_are_right(LIMIT_DIRECT, false);
}

/* Both on one processor: each comes to what the other has not combined yet. */
static void direct_halves_are_right(void **state)
{
    cpu_set_t all, one;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    loops_are_right(LIMIT_DIRECT, true);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_loops_are_right),     cmocka_unit_test(wide_loops_are_right),
        cmocka_unit_test(non_temporal_loops_are_right), cmocka_unit_test(direct_loops_are_right),
        cmocka_unit_test(direct_halves_are_right),
    };

    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
