/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls whose trace is known: rank 1 is late by so many milliseconds to some of them.
 *
 * usage: late MILLISECONDS CALLS [end]
 *
 * CALLS rounds of an allreduce of 8 bytes, a broadcast of 4000 bytes from rank 0, to which rank 1
 * comes late, and a barrier; then one gather of parts of 100 bytes on a copy of MPI_COMM_WORLD, an
 * alltoallv and a call that is wrong. `end`: finalize, limit (the same, where files may have 4
 * KiB), exit (without MPI_Finalize), or kill: rank 1 ends itself by a signal that nobody can
 * handle, while the others wait for it. */
#include "support.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void round_of_calls(int rank, long late)
{
    static char message[4000];
    double number = rank, sum = 0;

    CALL(MPI_Allreduce(&number, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum > 0, "the sum is %g", sum);
    if (rank == 1 && late > 0)
        sleep_ms(late);
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

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    CHECK(argc >= 3, "usage: late MILLISECONDS CALLS [end]");
    int rank = rank_of(MPI_COMM_WORLD);
    const char *end = argc > 3 ? argv[3] : "finalize";
    for (long i = 0; i < atol(argv[2]); i++)
        round_of_calls(rank, atol(argv[1]));
    others(rank, size_of(MPI_COMM_WORLD));
    if (strcmp(end, "kill") == 0 && rank == 1)
        raise(SIGKILL);
    if (strcmp(end, "kill") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(end, "exit") == 0)
        exit(0);
    if (strcmp(end, "limit") == 0)
        CHECK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096}) == 0, "no limit");
    return test_end();
}
