/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_THREAD_MULTIPLE: several threads, each with a communicator of its own. */
#include "support.h"

#include <pthread.h>

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
    run(workers, make_and_free);
    for (int i = 0; i < THREADS; i++)
        CALL(MPI_Comm_free(&workers[i].comm));
    return test_end();
}
