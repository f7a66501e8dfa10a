/* SPDX-License-Identifier: BSD-3-Clause */
/* A user's error handler is called once for each error, with the communicator and the class that
 * the host would give, and no other handler is. What the call returns then is printed: it differs
 * between hosts, and must not differ between two runs on one of them.
 *
 * usage: handlers [fatal]   with "fatal" the default handler must end the job */
#include "support.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

static int calls;
static int last_class;
static MPI_Comm last_comm;
static int others; /* calls of the handler of communicators that no call was made on */

static void handler(MPI_Comm *comm, int *code, ...)
{
    calls++;
    last_comm = *comm;
    MPI_Error_class(*code, &last_class);
}

static void other_handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    others++;
}

static void check_call(MPI_Comm comm, int expected_calls, int expected_class, int status)
{
    CHECK(calls == expected_calls, "%d calls of the handler, not %d", calls, expected_calls);
    CHECK(last_class == expected_class, "class %d, not %d", last_class, expected_class);
    CHECK(last_comm == comm, "the handler got another communicator");
    printf("rank %d returned %s\n", rank_of(MPI_COMM_WORLD), status ? "an error" : "success");
}

static void provoke(MPI_Comm comm, int expected_calls)
{
    int value = 1;
    int status = MPI_Bcast(&value, 1, MPI_INT, size_of(comm) + 3, comm);
    check_call(comm, expected_calls, MPI_ERR_ROOT, status);
}

/* An operation on a type for which MPI defines it as little as the hosts do. */
static void provoke_by_type(MPI_Comm comm, int expected_calls)
{
    wchar_t value = 1, sum;
    int status = MPI_Allreduce(&value, &sum, 1, MPI_WCHAR, MPI_SUM, comm);
    check_call(comm, expected_calls, MPI_ERR_OP, status);
}

/* Handles that never were any. */
static void provoke_by_handles(MPI_Comm comm, int calls_before)
{
    int value = 1;
    int status = MPI_Bcast(&value, 1, (MPI_Datatype)0, 0, comm);
    check_call(comm, calls_before + 1, MPI_ERR_TYPE, status);
#if defined(MPICH_NUMVERSION)
    int sum;
    status = MPI_Allreduce(&value, &sum, 1, MPI_INT, (MPI_Op)12345, comm);
    check_call(comm, calls_before + 2, MPI_ERR_OP, status);
#endif
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000
    /* Nobody is the root, whose arrays these would be. */
    status = MPI_Scatterv(NULL, NULL, NULL, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 1000, comm);
    check_call(comm, calls_before + 3, MPI_ERR_ROOT, status);
#endif
    CHECK(others == 0, "%d calls of another communicator's handler", others);
#if defined(MPICH_NUMVERSION) || defined(OPEN_MPI)
    status = MPI_Barrier((MPI_Comm)0);
    printf("rank %d returned %s\n", rank_of(comm), status ? "an error" : "success");
    CHECK(others == 1, "%d calls of a handler for a communicator that is none", others);
#endif
}

/* Notes the named segments that this rank's host has mapped, which may stay when it is ended. */
static void note_segments(void)
{
    char name[64], line[512];
    snprintf(name, sizeof name, "segments.%d", rank_of(MPI_COMM_WORLD));
    FILE *maps = fopen("/proc/self/maps", "r"), *file = fopen(name, "w");
    CHECK(maps != NULL && file != NULL, "no file of maps");
    while (fgets(line, sizeof line, maps) != NULL) {
        const char *path = strstr(line, "/dev/shm/");
        if (path != NULL && strstr(path, "(deleted)") == NULL)
            fputs(path, file);
    }
    fclose(maps);
    fclose(file);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Comm copy;
    MPI_Errhandler own, other;
    int value = 0;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    if (argc > 1 && strcmp(argv[1], "fatal") == 0) {
        note_segments();
        CALL(MPI_Barrier(copy));
        MPI_Bcast(&value, 1, MPI_INT, 99, copy);
        printf("still alive after an error that is fatal\n");
        return 0;
    }
    CALL(MPI_Comm_create_errhandler(handler, &own));
    CALL(MPI_Comm_set_errhandler(copy, own));
    for (int i = 1; i <= 5; i++) {
        checked_bcast(copy, 500, 0, 1);
        provoke(copy, i);
        CALL(MPI_Barrier(copy));
    }
    CALL(MPI_Comm_create_errhandler(other_handler, &other));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, other));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, other));
    provoke_by_handles(copy, 5);
    calls = 5;
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, own));
    provoke(MPI_COMM_WORLD, 6);
    provoke_by_type(copy, 7);
    provoke_by_type(MPI_COMM_WORLD, 8);
    checked_bcast(MPI_COMM_WORLD, 500, 0, 1);
    CALL(MPI_Errhandler_free(&own));
    CALL(MPI_Errhandler_free(&other));
    CALL(MPI_Comm_free(&copy));
    return test_end();
}
