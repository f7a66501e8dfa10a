/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts of given sizes from every root, and a barrier, after this rank has taken its own
 * tuning file: rank r that of argument r, or none where that is "-". A size with a plus before it
 * is that of an allreduce.
 *
 * usage: tuned FILE,FILE,... BYTES... */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sobor reads its variables in MPI_Init, so this rank has to know before which one it is. */
static int launched_rank(void)
{
    static const char *const names[] = {"PMIX_RANK", "PMI_RANK"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (getenv(names[i]) != NULL)
            return atoi(getenv(names[i]));
    }
    return 0;
}

static void take_file(char *files, int rank)
{
    char *file = strtok(files, ",");

    for (int i = 0; i < rank && file != NULL; i++)
        file = strtok(NULL, ",");
    if (file == NULL || strcmp(file, "-") == 0)
        unsetenv("SOBOR_TUNING");
    else
        setenv("SOBOR_TUNING", file, 1);
}

static void checked_allreduce(size_t bytes)
{
    size_t count = bytes / sizeof(double);
    double *mine = malloc(bytes), *sums = malloc(bytes);
    int size = size_of(MPI_COMM_WORLD), rank = rank_of(MPI_COMM_WORLD);

    CHECK(mine != NULL && sums != NULL, "memory");
    for (size_t i = 0; i < count; i++)
        mine[i] = (double)(i + (size_t)rank);
    CALL(MPI_Allreduce(mine, sums, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    for (size_t i = 0; i < count; i++)
        CHECK(sums[i] == size * (double)i + size * (size - 1) / 2, "sum %zu is %g", i, sums[i]);
    free(mine);
    free(sums);
}

int main(int argc, char **argv)
{
    int expected = launched_rank();
    if (argc > 1)
        take_file(argv[1], expected);
    test_begin(&argc, &argv);
    CHECK(argc >= 3, "usage: tuned FILE,FILE,... BYTES...");
    CHECK(rank_of(MPI_COMM_WORLD) == expected, "launched as rank %d", expected);
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 2; i < argc; i++) {
        if (*argv[i] == '+') {
            checked_allreduce(strtoul(argv[i] + 1, NULL, 10));
            continue;
        }
        size_t bytes = strtoul(argv[i], NULL, 10);
        for (int root = 0; root < size_of(MPI_COMM_WORLD); root++)
            checked_bcast(MPI_COMM_WORLD, bytes, root, (uint64_t)(i + root));
    }
    return test_end();
}
