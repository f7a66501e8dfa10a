/* SPDX-License-Identifier: BSD-3-Clause */
/* What was sent before a barrier can be asked for after it, once. The rank that asks comes last, so
 * that no wait inside the barrier brings along what was sent. */
#include "support.h"

#include <stdlib.h>

/* Open MPI takes in some thirty at one look. */
enum { MESSAGES = 12, ROUNDS = 20 };

static void send_all(MPI_Request *requests, const int *numbers)
{
    for (int i = 0; i < MESSAGES; i++)
        CALL(MPI_Isend(&numbers[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]));
}

static void receive_all(void)
{
    for (int i = 0; i < MESSAGES; i++) {
        int number;
        CALL(MPI_Recv(&number, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(number == i, "message %d is %d", i, number);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int rank = rank_of(MPI_COMM_WORLD), numbers[MESSAGES];
    MPI_Request requests[MESSAGES];
    int missing = 0;
    for (int i = 0; i < MESSAGES; i++)
        numbers[i] = i;
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < ROUNDS; round++) {
        int there = 1;
        if (rank == 0)
            send_all(requests, numbers);
        else
            sleep_ms(10);
        CALL(MPI_Barrier(MPI_COMM_WORLD));
        if (rank == 1)
            CALL(MPI_Iprobe(0, MESSAGES - 1, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE));
        missing += !there;
        if (rank == 1)
            receive_all();
        else
            CALL(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
        CALL(MPI_Barrier(MPI_COMM_WORLD));
    }
    /* On a busy machine the host itself needs a second look now and then. */
    CHECK(missing <= ROUNDS / 2, "what was sent before the barrier is not there in %d rounds of %d",
          missing, ROUNDS);
    return test_end();
}
