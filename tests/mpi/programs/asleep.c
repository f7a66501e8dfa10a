/* SPDX-License-Identifier: BSD-3-Clause */
/* Shortest paths without the work: in each of N steps the owner of a row broadcasts its N integers,
 * and every rank sleeps as long as the operations on its own rows would take. Rank 0 says how long
 * it all took.
 *
 * usage: asleep N OPERATIONS_A_SECOND */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void sleep_for(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    CHECK(argc == 3, "usage: asleep N OPERATIONS_A_SECOND");
    int nodes = atoi(argv[1]), rank = rank_of(MPI_COMM_WORLD), ranks = size_of(MPI_COMM_WORLD);
    int *row = calloc((size_t)nodes, sizeof *row);
    double operations = 2.0 * nodes * nodes / ranks;
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    double start = MPI_Wtime();
    for (int k = 0; k < nodes; k++) {
        int owner = k / ((nodes + ranks - 1) / ranks);
        for (int i = 0; i < nodes && rank == owner; i++)
            row[i] = k + i;
        CALL(MPI_Bcast(row, nodes, MPI_INT, owner, MPI_COMM_WORLD));
        CHECK(row[nodes - 1] == k + nodes - 1, "row %d ends in %d", k, row[nodes - 1]);
        sleep_for(operations / atof(argv[2]));
    }
    if (rank == 0)
        printf("run %.6f\n", MPI_Wtime() - start);
    free(row);
    return test_end();
}
