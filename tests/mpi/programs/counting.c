/* SPDX-License-Identifier: BSD-3-Clause */
/* Known numbers of calls, among calls of the library's own making, for the report to be compared.
 *
 * usage: counting FILE */
#include "support.h"

#include <string.h>

enum { WORLD_BARRIERS = 11, WORLD_BCASTS = 7, COPY_BARRIERS = 5, COPY_BCASTS = 3, BYTES = 1000 };

static unsigned char buffer[BYTES];

static void calls(MPI_Comm comm, int barriers, int bcasts)
{
    for (int i = 0; i < barriers; i++)
        CALL(MPI_Barrier(comm));
    for (int i = 0; i < bcasts; i++)
        CALL(MPI_Bcast(buffer, BYTES, MPI_BYTE, i % size_of(comm), comm));
}

static void internals(MPI_Comm comm, const char *name)
{
    MPI_File file;
    MPI_Win window;
    MPI_Comm copy;
    void *memory;
    MPI_Offset offset = (MPI_Offset)rank_of(comm) * BYTES;
    CALL(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    CALL(MPI_File_write_at_all(file, offset, buffer, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    CALL(MPI_File_close(&file));
    CALL(MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, comm, &memory, &window));
    CALL(MPI_Win_fence(0, window));
    CALL(MPI_Win_free(&window));
    CALL(MPI_Comm_dup(comm, &copy));
    CALL(MPI_Comm_free(&copy));
    CALL(MPI_Comm_split(comm, 0, 0, &copy));
    CALL(MPI_Comm_free(&copy));
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    CHECK(argc == 2, "usage: counting FILE");
    MPI_Comm copy;
    calls(MPI_COMM_WORLD, WORLD_BARRIERS, WORLD_BCASTS);
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    CALL(MPI_Comm_set_name(copy, "the copy"));
    internals(MPI_COMM_WORLD, argv[1]);
    calls(copy, COPY_BARRIERS, COPY_BCASTS);
    internals(copy, argv[1]);
    /* One call on a rank alone, which belongs to the host. */
    CALL(MPI_Barrier(MPI_COMM_SELF));
    CALL(MPI_Comm_free(&copy));
    if (rank_of(MPI_COMM_WORLD) == 0)
        CALL(MPI_File_delete(argv[1], MPI_INFO_NULL));
    return test_end();
}
