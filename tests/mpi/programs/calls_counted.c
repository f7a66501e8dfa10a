/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that are no blocking collectives, and how often: of N rounds of messages, a barrier that
 * returns at once, and a window.
 *
 * usage: calls_counted N */
#include "support.h"

#include <stdlib.h>

static void round_of_messages(int rank, int size)
{
    int mine = rank, theirs = -1, left = (rank + size - 1) % size;
    MPI_Request requests[2], barrier;
    MPI_Status statuses[2];

    CALL(MPI_Irecv(&theirs, 1, MPI_INT, left, 7, MPI_COMM_WORLD, &requests[0]));
    CALL(MPI_Isend(&mine, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &requests[1]));
    CALL(MPI_Waitall(2, requests, statuses));
    CHECK(theirs == left, "from rank %d came %d", left, theirs);
    CALL(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
    CALL(MPI_Wait(&barrier, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    CHECK(argc == 2, "usage: calls_counted N");
    int rank = rank_of(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD), *seen;
    MPI_Win window;

    for (long i = 0; i < atol(argv[1]); i++)
        round_of_messages(rank, size);
    CALL(MPI_Win_allocate(sizeof *seen, sizeof *seen, MPI_INFO_NULL, MPI_COMM_WORLD, &seen,
                          &window));
    CALL(MPI_Win_fence(0, window));
    CALL(MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window));
    CALL(MPI_Win_fence(0, window));
    CALL(MPI_Win_free(&window));
    return test_end();
}
