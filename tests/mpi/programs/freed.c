/* SPDX-License-Identifier: BSD-3-Clause */
/* The very first collective is on a communicator that was freed: the host's error, though Sobor
 * then makes communicators of its own. Open MPI would look into memory that it has given back.
 *
 * usage: freed */
#include "support.h"

#if defined(OPEN_MPI)
static void use_freed(void)
{
}
#else
static void use_freed(void)
{
    MPI_Comm comm, copy;
    int in = 1, out[64] = {0};

    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    copy = comm;
    CALL(MPI_Comm_free(&copy));
    CHECK(MPI_Barrier(comm) != MPI_SUCCESS, "a barrier without communicator");
    CHECK(MPI_Allgather(&in, 1, MPI_INT, out, 1, MPI_INT, comm) != MPI_SUCCESS,
          "an allgather without communicator");
}
#endif

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    use_freed();
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    return test_end();
}
