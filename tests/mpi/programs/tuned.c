/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts of given sizes from every root, and a barrier, after this rank has taken its own
 * tuning file: rank r that of argument r, or none where that is "-".
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
        size_t bytes = strtoul(argv[i], NULL, 10);
        for (int root = 0; root < size_of(MPI_COMM_WORLD); root++)
            checked_bcast(MPI_COMM_WORLD, bytes, root, (uint64_t)(i + root));
    }
    return test_end();
}
