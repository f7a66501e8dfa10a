/* SPDX-License-Identifier: BSD-3-Clause */
/* The last rank expects another number of bytes than the root broadcasts: in all pairs of sizes
 * that lie on either side of where algorithms change, on new communicators and on one that goes on.
 * It gets what there is and has room for, and the error that the host raises; then all agree again.
 * With the word "exact" nothing may be written beyond what it expects: some hosts do. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

static const int SIZES[] = {1, 200, 240, 241, 3000, 300000};
#define COUNT (int)(sizeof SIZES / sizeof *SIZES)

static bool exact, open_mpi;

/* What the host makes of a message of `sent` bytes where `wanted` are expected. */
static int expected_class(int sent, int wanted)
{
    if (sent == wanted || (sent < wanted && open_mpi))
        return MPI_SUCCESS;
    return sent > wanted ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER;
}

static void run(MPI_Comm comm, int sent, int wanted)
{
    int rank = rank_of(comm), class = MPI_SUCCESS;
    bool last = rank == size_of(comm) - 1;
    int bytes = last ? wanted : sent, least = sent < wanted ? sent : wanted;
    char *data = malloc(300001);
    memset(data, rank == 0 ? 7 : 0, 300001);
    int status = MPI_Bcast(data, bytes, MPI_CHAR, 0, comm);
    if (status != MPI_SUCCESS)
        MPI_Error_class(status, &class);
    int expected = last ? expected_class(sent, wanted) : MPI_SUCCESS;
    CHECK(class == expected, "%d sent, %d wanted: class %d, not %d", sent, wanted, class, expected);
    bool whole = exact || class == MPI_SUCCESS;
    CHECK(!whole || (data[0] == 7 && data[least - 1] == 7), "%d sent, %d wanted: data is missing",
          sent, wanted);
    for (int i = least; exact && last && i <= 300000; i++)
        CHECK(data[i] == 0, "%d sent, %d wanted: byte %d was written", sent, wanted, i);
    free(data);
    checked_bcast(comm, 8, 0, 1);
    checked_bcast(comm, 5000, size_of(comm) - 1, 2);
}

int main(int argc, char **argv)
{
    MPI_Comm kept, comm;
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    test_begin(&argc, &argv);
    exact = argc > 1 && strcmp(argv[1], "exact") == 0;
    MPI_Get_library_version(version, &length);
    open_mpi = strstr(version, "Open MPI") != NULL;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &kept));
    CALL(MPI_Comm_set_errhandler(kept, MPI_ERRORS_RETURN));
    for (int i = 0; i < COUNT * COUNT; i++) {
        run(kept, SIZES[i / COUNT], SIZES[i % COUNT]);
        CALL(MPI_Comm_dup(kept, &comm));
        run(comm, SIZES[i / COUNT], SIZES[i % COUNT]);
        CALL(MPI_Comm_free(&comm));
    }
    CALL(MPI_Comm_free(&kept));
    return test_end();
}
