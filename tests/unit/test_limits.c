/* SPDX-License-Identifier: BSD-3-Clause */
/* The loops that the bench takes as limits give right results, in all forms and sizes. */
#include "testing.h"

#include "../../bench/limits/limit.h"
#include "base/compiler.h"

#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROW = 150 /* calls: more than there is room for where it is to stay in a cache */ };
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

/* What both ranks send of the present size, made once for all calls. */
static unsigned char sent[2][2 * MOST];

static void begin_size(size_t bytes)
{
    for (int rank = 0; rank < 2; rank++) {
        for (size_t i = 0; i < 2 * bytes; i++)
            sent[rank][i] = byte_of(rank, bytes, i);
    }
}

static bool is_from(const unsigned char *at, int rank, size_t bytes, size_t first)
{
    return memcmp(at, sent[rank] + first, bytes) == 0;
}

static void fill(side_t *side, size_t all)
{
    memcpy(side->send, sent[side->limit.rank], all);
}

static bool broadcast_is_right(side_t *side, size_t bytes)
{
    int root = (int)(bytes % 2);

    fill(side, bytes);
    limit_broadcast(&side->limit, side->send, bytes, root);
    return is_from(side->send, root, bytes, 0);
}

static bool gather_is_right(side_t *side, size_t bytes)
{
    int root = (int)(bytes % 2);

    fill(side, bytes);
    limit_gather(&side->limit, side->send, side->receive, bytes, root);
    return side->limit.rank != root ||
           (is_from(side->receive, 0, bytes, 0) && is_from(side->receive + bytes, 1, bytes, 0));
}

static bool scatter_is_right(side_t *side, size_t bytes)
{
    int root = (int)(bytes % 2);

    fill(side, 2 * bytes);
    limit_scatter(&side->limit, side->send, side->receive, bytes, root);
    return is_from(side->receive, root, bytes, (size_t)side->limit.rank * bytes);
}

static bool allgather_is_right(side_t *side, size_t bytes)
{
    fill(side, bytes);
    limit_allgather(&side->limit, side->send, side->receive, bytes);
    return is_from(side->receive, 0, bytes, 0) && is_from(side->receive + bytes, 1, bytes, 0);
}

static bool alltoall_is_right(side_t *side, size_t bytes)
{
    size_t first = (size_t)side->limit.rank * bytes;

    fill(side, 2 * bytes);
    limit_alltoall(&side->limit, side->send, side->receive, bytes);
    return is_from(side->receive, 0, bytes, first) &&
           is_from(side->receive + bytes, 1, bytes, first);
}

/* Numbers to be summed, as many as there are whole ones. */
static void fill_numbers(side_t *side, size_t bytes, enum limit_element element)
{
    fill(side, bytes);
    for (size_t i = 0; i < bytes / sizeof(double) && element == LIMIT_DOUBLE; i++)
        ((double *)(void *)side->send)[i] = sent[side->limit.rank][i];
    for (size_t i = 0; i < bytes / sizeof(float) && element == LIMIT_FLOAT; i++)
        ((float *)(void *)side->send)[i] = sent[side->limit.rank][i];
}

static bool is_sum(const side_t *side, size_t bytes, enum limit_element element)
{
    bool right = true;

    for (size_t i = 0; i < bytes / sizeof(double) && element == LIMIT_DOUBLE; i++)
        right &= ((double *)(void *)side->receive)[i] == sent[0][i] + sent[1][i];
    for (size_t i = 0; i < bytes / sizeof(float) && element == LIMIT_FLOAT; i++)
        right &= ((float *)(void *)side->receive)[i] == (float)(sent[0][i] + sent[1][i]);
    for (size_t i = 0; i < bytes && element == LIMIT_BYTE; i++)
        right &= side->receive[i] == (unsigned char)(sent[0][i] + sent[1][i]);
    return right;
}

static bool sum_is_right(side_t *side, size_t bytes, enum limit_element element)
{
    fill_numbers(side, bytes, element);
    limit_allreduce(&side->limit, side->send, side->receive, bytes, element);
    return is_sum(side, bytes, element);
}

static bool reduce_is_right(side_t *side, size_t bytes, enum limit_element element)
{
    int root = (int)(bytes % 2);

    fill_numbers(side, bytes, element);
    limit_reduce(&side->limit, side->send, side->receive, bytes, element, root);
    return side->limit.rank != root || is_sum(side, bytes, element);
}

static bool sums_are_right(side_t *side, size_t bytes)
{
    bool right = true;

    for (int element = LIMIT_BYTE; element <= LIMIT_DOUBLE && right; element++) {
        right = sum_is_right(side, bytes, (enum limit_element)element) &&
                reduce_is_right(side, bytes, (enum limit_element)element);
    }
    return right;
}

static bool all_is_right(side_t *side)
{
    bool right = true;

    for (size_t i = 0; i < SB_COUNT_OF(sizes) && right; i++) {
        begin_size(sizes[i]);
        right = broadcast_is_right(side, sizes[i]) && gather_is_right(side, sizes[i]) &&
                scatter_is_right(side, sizes[i]) && allgather_is_right(side, sizes[i]) &&
                alltoall_is_right(side, sizes[i]) && sums_are_right(side, sizes[i]);
        limit_barrier(&side->limit);
    }
    return right;
}

/* Calls that one rank only gives in, with other data each: it goes ahead until the other, which
 * comes late now and then, has to free what it would write over. */
static bool row_is_right(side_t *side, int operation, size_t bytes, int root)
{
    struct limit *limit = &side->limit;
    bool takes = (operation < 2) == (limit->rank != root), right = true;
    int giver = operation < 2 ? root : !root;

    for (size_t call = 0; call < ROW; call++) {
        unsigned char *to = operation == 0 ? side->send : side->receive;
        for (size_t i = 0; i < bytes; i++)
            side->send[i] = side->send[bytes + i] =
                (unsigned char)(byte_of(limit->rank, bytes, i) + 3 * call);
        if (takes && call % 97 == 0)
            usleep(300);
        if (operation == 0)
            limit_broadcast(limit, side->send, bytes, root);
        else if (operation == 1)
            limit_scatter(limit, side->send, side->receive, bytes, root);
        else if (operation == 2)
            limit_gather(limit, side->send, side->receive, bytes, root);
        else
            limit_reduce(limit, side->send, side->receive, bytes, LIMIT_BYTE, root);
        to += operation == 2 ? (size_t)giver * bytes : 0;
        for (size_t i = 0; i < bytes && takes; i++) {
            int own = operation == 3 ? byte_of(!giver, bytes, i) + 3 * (int)call : 0;
            right &= to[i] == (unsigned char)(own + byte_of(giver, bytes, i) + 3 * (int)call);
        }
    }
    return right;
}

static bool rows_are_right(side_t *side)
{
    static const size_t lengths[] = {8, 57, 568, 569};
    bool right = true;

    for (size_t i = 0; i < 8 * SB_COUNT_OF(lengths); i++)
        right &= row_is_right(side, (int)(i % 4), lengths[i / 8], (int)(i / 4 % 2));
    limit_barrier(&side->limit);
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
    return all_is_right(&side) && (form == LIMIT_DIRECT || rows_are_right(&side));
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
