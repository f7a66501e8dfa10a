/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives over an inter-communicator, which belong to the host MPI. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

static void broadcast(MPI_Comm between, bool sending, int root, size_t bytes)
{
    unsigned char *buffer = malloc(bytes);
    int argument = root;
    if (sending)
        argument = rank_of(between) == root ? MPI_ROOT : MPI_PROC_NULL;
    fill(buffer, bytes, argument == MPI_ROOT ? 6 : 7);
    CALL(MPI_Bcast(buffer, (int)bytes, MPI_BYTE, argument, between));
    uint64_t expected = sending && argument != MPI_ROOT ? 7 : 6;
    CHECK(mismatch(buffer, bytes, expected) == bytes, "%zu bytes: wrong data", bytes);
    free(buffer);
}

/* Each group gets what the other one has. */
static void reduce(MPI_Comm between, bool upper)
{
    int mine = upper ? 1 : 100, remote = 0, sum = 0;
    CALL(MPI_Comm_remote_size(between, &remote));
    CALL(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, between));
    CHECK(sum == remote * (upper ? 100 : 1), "sum %d of %d ranks", sum, remote);
}

int main(int argc, char **argv)
{
    static const size_t SIZES[] = {1, 48, 5000, 200000};
    test_begin(&argc, &argv);
    int size = size_of(MPI_COMM_WORLD);
    if (size < 2)
        return test_skip("two groups need two ranks");
    int upper = rank_of(MPI_COMM_WORLD) >= size / 2;
    MPI_Comm half;
    MPI_Comm between;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &half));
    CALL(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : size / 2, 4, &between));
    for (int i = 0; i < 10; i++) {
        for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++) {
            broadcast(between, upper, 0, SIZES[s]);
            broadcast(between, !upper, 0, SIZES[s]);
        }
        CALL(MPI_Barrier(between));
        reduce(between, upper);
        checked_bcast(half, 100, 0, (uint64_t)i);
        CALL(MPI_Barrier(half));
    }
    CALL(MPI_Comm_free(&between));
    CALL(MPI_Comm_free(&half));
    return test_end();
}
