/* SPDX-License-Identifier: BSD-3-Clause */
/* What the test programs share: failing loudly, patterns, random numbers, the host's own functions,
 * and a watch that tells whether a barrier really waited.
 *
 * A program ends with "PASS name" on rank 0, "SKIP reason" when the MPI lacks what it needs, or a
 * line "FAIL ..." on stderr and MPI_Abort. */
#ifndef SOBOR_TESTS_SUPPORT_H
#define SOBOR_TESTS_SUPPORT_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void test_begin(int *argc, char ***argv);
int test_begin_threads(int *argc, char ***argv, int required); /* the level that is provided */
int test_end(void);
int test_skip(const char *reason);
/* Programs in a row share a job: in between, test_begin and test_end neither begin nor end MPI. */
void test_row_begin(int *argc, char ***argv);
int test_row_end(void);

__attribute__((noreturn, format(printf, 3, 4))) void test_fail(const char *file, int line,
                                                               const char *format, ...);

#define CHECK(condition, ...) ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, __VA_ARGS__))
#define CALL(call)                                                                                 \
    do {                                                                                           \
        int call_status = (call);                                                                  \
        CHECK(call_status == MPI_SUCCESS, "%s returned %d", #call, call_status);                   \
    } while (0)

int rank_of(MPI_Comm comm);
int size_of(MPI_Comm comm);

/* Bytes that depend on the seed and on every position. mismatch returns the first wrong place, or
 * bytes when all is right. */
void fill(void *buffer, size_t bytes, uint64_t seed);
size_t mismatch(const void *buffer, size_t bytes, uint64_t seed);

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t z = a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t next_random(uint64_t *state);
size_t random_below(uint64_t *state, size_t limit);

/* The function of the MPI library itself, past anything that is preloaded. Never NULL. */
void *host_function(const char *name);

/* One broadcast of a pattern with guards around it, checked. */
void checked_bcast(MPI_Comm comm, size_t bytes, int root, uint64_t seed);

/* All ranks of the world run on one machine here. Before a barrier each member notes the tick;
 * behind it every member must have noted it. Ticks grow; watch_begin and watch_end are collective.
 */
void watch_begin(void);
void watch_end(void);
void checked_barrier(MPI_Comm comm, uint64_t tick);
/* The same, if the members' ranks in the world are known. */
void watched_barrier(MPI_Comm comm, const int *members, int size, uint64_t tick);

/* What a process has open, and how much of Sobor's shared memory it has mapped; nothing where it
 * cannot see /proc. */
struct holdings {
    int descriptors;
    int maps;
};

struct holdings holdings(void);
/* Nothing more than before is held. */
void check_holdings(struct holdings before);

void sleep_ms(long milliseconds);
double now(void);

#endif
