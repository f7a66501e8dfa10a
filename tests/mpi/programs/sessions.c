/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators made from sessions: without MPI_Init, beside it, and after a session has ended.
 *
 * usage: sessions alone|twice|beside|left */
#include "support.h"

#include <stdio.h>
#include <string.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)

static void use(const char *tag, bool left)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    CALL(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    CALL(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    CALL(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    CALL(MPI_Group_free(&group));
    CALL(MPI_Comm_set_name(comm, tag));
    for (int i = 0; i < 20; i++) {
        checked_bcast(comm, 1 + 500 * (size_t)i, i % size_of(comm), (uint64_t)i);
        CALL(MPI_Barrier(comm));
    }
    if (rank_of(comm) == 0)
        printf("session %s size %d\n", tag, size_of(comm));
    if (!left)
        CALL(MPI_Comm_free(&comm));
    CALL(MPI_Session_finalize(&session));
}

static int alone(const char *how)
{
    use("first", strcmp(how, "left") == 0);
    if (strcmp(how, "twice") == 0)
        use("second", false);
    printf("PASS sessions\n");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "beside") != 0)
        return alone(argc > 1 ? argv[1] : "alone");
    test_begin(&argc, &argv);
    checked_bcast(MPI_COMM_WORLD, 100, 0, 1);
    use("beside", false);
    checked_bcast(MPI_COMM_WORLD, 100, 0, 2);
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    return test_end();
}

#else

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    return test_skip("this MPI has no sessions");
}

#endif
