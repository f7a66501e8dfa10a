/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI-IO among the program's own collectives: the library's own calls must not be touched.
 *
 * usage: io FILE */
#include "support.h"

#include <stdio.h>

enum { BYTES = 10000, ROUNDS = 4 };

static unsigned char data[BYTES];

static void round_trip(MPI_Comm comm, const char *name, int round)
{
    MPI_File file;
    MPI_Offset offset = (MPI_Offset)rank_of(comm) * BYTES;
    uint64_t seed = mix((uint64_t)rank_of(comm), (uint64_t)round);
    fill(data, BYTES, seed);
    CALL(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    checked_bcast(comm, 300, round % size_of(comm), (uint64_t)round);
    CALL(MPI_File_write_at_all(file, offset, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    CALL(MPI_Barrier(comm));
    fill(data, BYTES, 0);
    CALL(MPI_File_sync(file));
    CALL(MPI_File_read_at_all(file, offset, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(mismatch(data, BYTES, seed) == BYTES, "round %d: the file has other data", round);
    CALL(MPI_File_close(&file));
    CALL(MPI_Barrier(comm));
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    CHECK(argc == 2, "usage: io FILE");
    MPI_Comm copy;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    for (int round = 0; round < ROUNDS; round++)
        round_trip(round % 2 ? copy : MPI_COMM_WORLD, argv[1], round);
    CALL(MPI_Comm_free(&copy));
    if (rank_of(MPI_COMM_WORLD) == 0)
        CALL(MPI_File_delete(argv[1], MPI_INFO_NULL));
    return test_end();
}
