/* SPDX-License-Identifier: BSD-3-Clause */
/* The very first collective of a communicator, with a message under way: setting up must serve the
 * message as well. "counted": ranks count calls alike, though one of them alone makes some that are
 * wrong in between, which do nothing but return an error.
 *
 * usage: first_use [counted] */
#include "support.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 8 << 20, TAG = 12, ROUNDS = 40 };

static void call_wrongly(MPI_Comm comm)
{
    int value = 1, other[64];

    CHECK(MPI_Bcast(&value, 1, MPI_INT, size_of(comm), comm) != MPI_SUCCESS,
          "there is no such root");
    CHECK(MPI_Allgather(&value, -1, MPI_INT, other, 1, MPI_INT, comm) != MPI_SUCCESS,
          "there is no such count");
    CHECK(MPI_Allreduce(&value, other, 1, MPI_INT, MPI_OP_NULL, comm) != MPI_SUCCESS,
          "there is no such operation");
}

static void call_rightly(MPI_Comm comm, int round)
{
    int size = size_of(comm), mine = 100 * round + rank_of(comm), all[64], sum = -1;

    CALL(MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm));
    for (int i = 0; i < size; i++)
        CHECK(all[i] == 100 * round + i, "round %d: rank %d gave %d", round, i, all[i]);
    CALL(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == 100 * round * size + size * (size - 1) / 2, "round %d: sum %d", round, sum);
    CALL(MPI_Bcast(&mine, 1, MPI_INT, 0, comm));
    CHECK(mine == 100 * round, "round %d: got %d", round, mine);
}

static void count(void)
{
    MPI_Comm comm;

    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int round = 0; round < ROUNDS; round++) {
        call_rightly(comm, round);
        if (round % 7 == 1 && rank_of(comm) == 0)
            call_wrongly(comm);
    }
    CALL(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    if (argc > 1 && strcmp(argv[1], "counted") == 0) {
        count();
        return test_end();
    }
    unsigned char *message = malloc(BYTES);
    MPI_Request request = MPI_REQUEST_NULL;
    int rank = rank_of(MPI_COMM_WORLD);
    if (size_of(MPI_COMM_WORLD) < 2)
        return test_skip("needs two ranks");
    fill(message, BYTES, rank == 0 ? 1 : 2);
    if (rank == 0)
        CALL(MPI_Isend(message, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
    if (rank == 1) {
        sleep_ms(20);
        CALL(MPI_Recv(message, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(mismatch(message, BYTES, 1) == BYTES, "the message is wrong");
    }
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    free(message);
    return test_end();
}
