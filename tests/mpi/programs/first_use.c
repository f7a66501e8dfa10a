/* SPDX-License-Identifier: BSD-3-Clause */
/* The very first collective of a communicator, with a message under way: setting up must serve the
 * message as well. "counted": calls before it count whatever their arguments, which may be wrong at
 * one rank alone.
 *
 * usage: first_use [counted] */
#include "support.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 8 << 20, TAG = 12 };

/* A wrong broadcast, which does nothing but return an error, and then a right one. */
static void count(void)
{
    MPI_Comm comm;
    int value = rank_of(MPI_COMM_WORLD);

    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK(MPI_Bcast(&value, 1, MPI_INT, size_of(comm), comm) != MPI_SUCCESS,
          "there is no such root");
    CALL(MPI_Bcast(&value, 1, MPI_INT, 0, comm));
    CHECK(value == 0, "got %d", value);
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
