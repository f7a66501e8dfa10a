/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls whose trace is known: rank 1 is late by so many milliseconds to some of them, from when the
 * first rank is there on, whatever else the machine does.
 *
 * usage: late MILLISECONDS CALLS [end]
 *
 * CALLS rounds of an allreduce of 8 bytes, a broadcast of 4000 bytes from rank 0, to which rank 1
 * comes late, and a barrier; then one gather of parts of 100 bytes on a copy of MPI_COMM_WORLD, an
 * alltoallv and a call that is wrong. `end`: finalize, limit (the same, where files may have 4
 * KiB), exit (without MPI_Finalize), or, while the others wait for rank 1, kill: that ends itself
 * by a signal that nobody can handle, abort, or crash: it writes to where nothing is. */
#include "support.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* How often rank 0 was there: in a file of the folder, since messages would be calls too. */
static _Atomic long *there;

static void share_there(void)
{
    int file = open("late.there", O_RDWR | O_CREAT, 0600);
    CHECK(file >= 0 && ftruncate(file, sizeof *there) == 0, "no file late.there");
    there = mmap(NULL, sizeof *there, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(there != MAP_FAILED, "late.there is not mapped");
    close(file);
}

static void come_late(int rank, long round, long late)
{
    if (rank == 0)
        atomic_store_explicit(there, round + 1, memory_order_release);
    if (rank != 1)
        return;
    while (atomic_load_explicit(there, memory_order_acquire) <= round) /* come_late of rank 0 */
        sched_yield();
    sleep_ms(late);
}

static void round_of_calls(int rank, long round, long late)
{
    static char message[4000];
    double number = rank, sum = 0;

    CALL(MPI_Allreduce(&number, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum > 0, "the sum is %g", sum);
    if (late > 0)
        come_late(rank, round, late);
    CALL(MPI_Bcast(message, sizeof message, MPI_CHAR, 0, MPI_COMM_WORLD));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
}

static void others(int rank, int size)
{
    MPI_Comm copy;
    int part[25] = {rank}, number = rank;
    int *all = calloc((size_t)size, sizeof part);
    int *counts = calloc((size_t)size, sizeof *counts),
        *places = calloc((size_t)size, sizeof *places);

    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    CALL(MPI_Gather(part, 25, MPI_INT, all, 25, MPI_INT, size - 1, copy));
    CHECK(rank != size - 1 || all[25] == 1, "rank 1 gave %d", all[25]);
    for (int peer = 0; peer < size; peer++) {
        counts[peer] = 1;
        places[peer] = peer;
        all[peer] = rank;
    }
    CALL(MPI_Alltoallv(all, counts, places, MPI_INT, part, counts, places, MPI_INT, copy));
    CHECK(part[1] == 1, "rank 1 sent %d", part[1]);
    CALL(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
    CHECK(MPI_Bcast(&number, -1, MPI_INT, 0, copy) != MPI_SUCCESS, "a count of -1 is right");
    CALL(MPI_Comm_free(&copy));
    free(all);
    free(counts);
    free(places);
}

static void end_badly(int rank, const char *end)
{
    static volatile int *volatile nothing;

    if (rank != 1)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (strcmp(end, "kill") == 0)
        raise(SIGKILL);
    else if (strcmp(end, "abort") == 0)
        abort();
    else
        *nothing = 1;
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    CHECK(argc >= 3, "usage: late MILLISECONDS CALLS [end]");
    int rank = rank_of(MPI_COMM_WORLD);
    const char *end = argc > 3 ? argv[3] : "finalize";
    long late = atol(argv[1]);
    if (late > 0)
        share_there();
    for (long i = 0; i < atol(argv[2]); i++)
        round_of_calls(rank, i, late);
    others(rank, size_of(MPI_COMM_WORLD));
    if (strcmp(end, "kill") == 0 || strcmp(end, "abort") == 0 || strcmp(end, "crash") == 0)
        end_badly(rank, end);
    if (strcmp(end, "exit") == 0)
        exit(0);
    if (strcmp(end, "limit") == 0)
        CHECK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096}) == 0, "no limit");
    return test_end();
}
