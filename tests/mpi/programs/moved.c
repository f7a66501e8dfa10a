/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that are no longer what they were when MPI was started.
 *
 * usage: moved thread   the first thread of every rank ends, another goes on
 *        moved root     rank 1 changes its root to a folder without /proc */
#include "support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void use(MPI_Comm comm)
{
    CALL(MPI_Barrier(comm));
    checked_bcast(comm, 3000, 0, 1);
    checked_bcast(comm, 100, size_of(comm) - 1, 2);
}

/* The others wait for so long that they look whether rank 1 lives. */
static void come_late(MPI_Comm comm)
{
    if (rank_of(comm) == 1)
        sleep_ms(900);
    use(comm);
}

static void use_new(void (*then)(MPI_Comm))
{
    MPI_Comm copy;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    use(copy);
    then(copy);
    CALL(MPI_Comm_free(&copy));
}

/* The second is made of what the first has given back. */
static void use_some_new(void)
{
    use_new(come_late);
    struct holdings before = holdings();
    use_new(use);
    check_holdings(before);
}

static void *go_on(void *first)
{
    pthread_join(*(pthread_t *)first, NULL);
    come_late(MPI_COMM_WORLD);
    use_some_new();
    exit(test_end());
}

int main(int argc, char **argv)
{
    static pthread_t first, second;
    if (test_begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE) < MPI_THREAD_MULTIPLE)
        return test_skip("this MPI has no MPI_THREAD_MULTIPLE");
    CHECK(argc == 2, "usage: moved thread|root");
    use(MPI_COMM_WORLD);
    if (strcmp(argv[1], "thread") == 0) {
        first = pthread_self();
        CHECK(pthread_create(&second, NULL, go_on, &first) == 0, "no thread");
        pthread_exit(NULL);
    }
    if (rank_of(MPI_COMM_WORLD) == 1)
        CHECK(chroot("/dev") == 0, "only root may change its root");
    come_late(MPI_COMM_WORLD);
    use_some_new();
    return test_end();
}
