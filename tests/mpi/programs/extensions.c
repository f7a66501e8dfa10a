/* SPDX-License-Identifier: BSD-3-Clause */
/* What MPICH has beyond MPI, where it has it: communicators of threads, each of which is a rank
 * behind one handle; MPIX_EQUAL, whose result is one int; and several engines of progress, which
 * its variables ask for.
 *
 * usage: extensions threads | equal | engines */
#include "support.h"

#if defined(MPIX_EQUAL)

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, ROUNDS = 20, ENGINES = 4, LONG = 8 << 20 };

static MPI_Comm of_threads;

static void *take_part(void *unused)
{
    CALL(MPIX_Threadcomm_start(of_threads));
    int rank = rank_of(of_threads), size = size_of(of_threads);
    int processes = size_of(MPI_COMM_WORLD); /* the host takes no other root */
    CHECK(size == THREADS * processes, "%d ranks", size);
    for (int i = 0; i < ROUNDS; i++) {
        int value = rank == i % processes ? 1000 + i : -1, sum = -1;
        CALL(MPI_Barrier(of_threads));
        CALL(MPI_Bcast(&value, 1, MPI_INT, i % processes, of_threads));
        CHECK(value == 1000 + i, "%d came", value);
        CALL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, of_threads));
        CHECK(sum == size * (size - 1) / 2, "sum %d", sum);
    }
    CALL(MPIX_Threadcomm_finish(of_threads));
    return unused;
}

/* Twice, so that handles come again: as threads', and as the world's duplicate. */
static void threads(void)
{
    for (int time = 0; time < 2; time++) {
        pthread_t thread[THREADS];
        MPI_Comm copy;
        CALL(MPIX_Threadcomm_init(MPI_COMM_WORLD, THREADS, &of_threads));
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_create(&thread[i], NULL, take_part, NULL) == 0, "no thread");
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
        CALL(MPIX_Threadcomm_free(&of_threads));
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
        for (int i = 0; i < ROUNDS; i++) {
            checked_bcast(copy, 500, i % size_of(copy), (uint64_t)i);
            CALL(MPI_Barrier(copy));
        }
        CALL(MPI_Comm_free(&copy));
    }
}

static void equal(void)
{
    struct {
        int is_equal;
        char guard[124];
    } result;
    char bytes[64], guard[sizeof result.guard];
    memset(guard, 0x5a, sizeof guard);
    for (int same = 0; same < 2; same++) {
        int value = same ? 7 : rank_of(MPI_COMM_WORLD);
        memset(&result, 0x5a, sizeof result);
        CALL(MPI_Allreduce(&value, &result.is_equal, 1, MPI_INT, MPIX_EQUAL, MPI_COMM_WORLD));
        CHECK(result.is_equal == same, "%d, not %d", result.is_equal, same);
        memset(bytes, value, sizeof bytes);
        CALL(MPI_Allreduce(bytes, &result.is_equal, sizeof bytes, MPI_BYTE, MPIX_EQUAL,
                           MPI_COMM_WORLD));
        CHECK(result.is_equal == same, "%d of bytes, not %d", result.is_equal, same);
        CHECK(memcmp(result.guard, guard, sizeof guard) == 0, "more than the result is written");
        checked_bcast(MPI_COMM_WORLD, 500, 0, (uint64_t)same);
    }
}

/* Long messages on communicators of several engines, whose sender waits for the receiver, which
 * waits in a barrier meanwhile. */
static void engines(void)
{
    char *buffer = malloc(LONG);
    MPI_Comm comm[ENGINES];
    MPI_Request request;
    CHECK(buffer != NULL, "no memory");
    for (int i = 0; i < ENGINES; i++)
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]));
    for (int i = 0; i < ENGINES; i++) {
        for (int k = 0; k < ROUNDS; k++)
            CALL(MPI_Barrier(comm[i]));
        if (rank_of(comm[i]) == 0) {
            CALL(MPI_Irecv(buffer, LONG, MPI_BYTE, 1, 5, comm[i], &request));
            CALL(MPI_Barrier(comm[i]));
            CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK(mismatch(buffer, LONG, (uint64_t)i) == LONG, "other bytes than were sent");
        } else {
            fill(buffer, LONG, (uint64_t)i);
            CALL(MPI_Send(buffer, LONG, MPI_BYTE, 0, 5, comm[i]));
            CALL(MPI_Barrier(comm[i]));
        }
    }
    for (int i = 0; i < ENGINES; i++)
        CALL(MPI_Comm_free(&comm[i]));
    free(buffer);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int level = test_begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (level < MPI_THREAD_MULTIPLE)
        return test_skip("this MPI has no MPI_THREAD_MULTIPLE");
    if (strcmp(what, "threads") == 0)
        threads();
    else if (strcmp(what, "equal") == 0)
        equal();
    else
        engines();
    return test_end();
}

#else

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    return test_skip("this MPI has nothing beyond MPI");
}

#endif
