/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators made from sessions: without MPI_Init, beside it, and after a session has ended.
 *
 * usage: sessions alone|twice|beside|left|wrong */
#include "support.h"

#include <stdio.h>
#include <string.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)

/* Handles that never were any, in the first calls: errors are the communicator's to return. */
static void provoke(MPI_Comm comm)
{
    int value = 1;
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK(MPI_Bcast(&value, 1, (MPI_Datatype)0, 0, comm) != MPI_SUCCESS, "no wrong type");
#if defined(MPICH_NUMVERSION)
    int sum;
    CHECK(MPI_Allreduce(&value, &sum, 1, MPI_INT, (MPI_Op)12345, comm) != MPI_SUCCESS,
          "no wrong operation");
#endif
}

static void use(const char *tag, const char *how)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    CALL(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    CALL(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    CALL(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    CALL(MPI_Group_free(&group));
    CALL(MPI_Comm_set_name(comm, tag));
    if (strcmp(how, "wrong") == 0)
        provoke(comm);
    for (int i = 0; i < 20; i++) {
        checked_bcast(comm, 1 + 500 * (size_t)i, i % size_of(comm), (uint64_t)i);
        CALL(MPI_Barrier(comm));
    }
    if (rank_of(comm) == 0)
        printf("session %s size %d\n", tag, size_of(comm));
    if (strcmp(how, "left") != 0)
        CALL(MPI_Comm_free(&comm));
    CALL(MPI_Session_finalize(&session));
}

static int alone(const char *how)
{
    use("first", how);
    if (strcmp(how, "twice") == 0)
        use("second", how);
    printf("PASS sessions\n");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "beside") != 0)
        return alone(argc > 1 ? argv[1] : "alone");
    test_begin(&argc, &argv);
    checked_bcast(MPI_COMM_WORLD, 100, 0, 1);
    use("beside", argv[1]);
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
