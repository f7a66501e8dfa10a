/* SPDX-License-Identifier: BSD-3-Clause */
/* The very first collective of a communicator, with a message under way: setting up must serve the
 * message as well.
 *
 * usage: first_use */
#include "support.h"

#include <stdlib.h>

enum { BYTES = 8 << 20, TAG = 12 };

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
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
