/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_THREAD_MULTIPLE: several threads, each with a communicator of its own. */
#include "support.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 3, ROUNDS = 150 };

struct worker {
    pthread_t thread;
    MPI_Comm comm;
    int number;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    int size = size_of(worker->comm);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t seed = mix((uint64_t)worker->number, (uint64_t)i);
        checked_bcast(worker->comm, (size_t)(seed % 3000), i % size, seed);
        if (i % 4 == 0)
            CALL(MPI_Barrier(worker->comm));
        if (i % 30 == 0)
            checked_bcast(worker->comm, 200000, i % size, seed);
    }
    return NULL;
}

static int given(int thread, int rank, int i)
{
    return 1000 * rank + 10 * thread + i % 10;
}

/* What all ranks gave for part `i`, added up. */
static int sum_given(int thread, int ranks, int i)
{
    return 500 * ranks * (ranks - 1) + ranks * given(thread, 0, i);
}

/* One call of each kind that keeps something for its communicator, with n elements for each rank.
 */
static void check_calls(const struct worker *worker, int n, int *out, int *in)
{
    int rank = rank_of(worker->comm), size = size_of(worker->comm), t = worker->number;
    MPI_Comm comm = worker->comm;
    for (int i = 0; i < n * size; i++)
        out[i] = given(t, rank, i);
    CALL(MPI_Allreduce(out, in, n * size, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < n * size; i++)
        CHECK(in[i] == sum_given(t, size, i), "allreduce: %d at %d of %d", in[i], i, n * size);
    CALL(MPI_Reduce_scatter_block(out, in, n, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < n; i++)
        CHECK(in[i] == sum_given(t, size, rank * n + i), "reduce_scatter: %d at %d", in[i], i);
    CALL(MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, comm));
    for (int i = 0; i < n * size; i++)
        CHECK(in[i] == given(t, i / n, rank * n + i % n), "alltoall: %d at %d", in[i], i);
    CALL(MPI_Allgather(out, n, MPI_INT, in, n, MPI_INT, comm));
    for (int i = 0; i < n * size; i++)
        CHECK(in[i] == given(t, i / n, i % n), "allgather: %d at %d", in[i], i);
    CALL(MPI_Scan(out, in, n, MPI_INT, MPI_MAX, comm));
    for (int i = 0; i < n; i++)
        CHECK(in[i] == given(t, rank, i), "scan: %d at %d", in[i], i);
}

static void *combine(void *argument)
{
    struct worker *worker = argument;
    enum { MOST = 20000 };
    size_t room = (size_t)MOST * (size_t)size_of(worker->comm);
    int *out = malloc(room * sizeof *out), *in = malloc(room * sizeof *in);
    CHECK(out != NULL && in != NULL, "no memory");
    for (int i = 0; i < ROUNDS / 5; i++) {
        uint64_t seed = mix((uint64_t)worker->number, (uint64_t)i);
        check_calls(worker, i % 10 == 0 ? MOST : 1 + (int)(seed % 300), out, in);
    }
    free(out);
    free(in);
    return NULL;
}

/* Communicators made, used and freed in the threads, while the others work. */
static void *make_and_free(void *argument)
{
    struct worker *worker = argument;
    for (int i = 0; i < 20; i++) {
        MPI_Comm copy;
        CALL(MPI_Comm_dup(worker->comm, &copy));
        checked_bcast(copy, 500, i % size_of(copy), (uint64_t)i);
        CALL(MPI_Barrier(copy));
        CALL(MPI_Comm_free(&copy));
    }
    return NULL;
}

static void run(struct worker *workers, void *(*function)(void *))
{
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&workers[i].thread, NULL, function, &workers[i]) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
}

int main(int argc, char **argv)
{
    struct worker workers[THREADS];
    if (test_begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE) < MPI_THREAD_MULTIPLE)
        return test_skip("this MPI has no MPI_THREAD_MULTIPLE");
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm));
    }
    run(workers, work);
    run(workers, combine);
    run(workers, make_and_free);
    for (int i = 0; i < THREADS; i++)
        CALL(MPI_Comm_free(&workers[i].comm));
    return test_end();
}
