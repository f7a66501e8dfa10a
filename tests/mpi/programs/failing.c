/* SPDX-License-Identifier: BSD-3-Clause */
/* Fault tolerance of the MPI: what calls come to where a communicator is revoked, or a rank ends.
 * Two ranks.
 *
 * usage: failing CASE, one of the table below */
#include "support.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Of Open MPI 5.0, by the numbers that its header has. */
enum { PROC_FAILED = 75, REVOKED = 77 };

static int buffer[16];
static MPI_Comm comm;

static void revoke(void)
{
    void *function = dlsym(RTLD_DEFAULT, "MPIX_Comm_revoke");
    int (*revoking)(MPI_Comm);

    CHECK(function != NULL, "no MPIX_Comm_revoke");
    memcpy(&revoking, &function, sizeof revoking);
    CALL(revoking(comm));
}

static void expect(int error, int expected, const char *call)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(error, &class);
    CHECK(class == expected, "%s: class %d, expected %d", call, class, expected);
}

/* One waits for the other, who has turned away. */
static void revoked_waiting(void)
{
    if (rank_of(comm) == 0) {
        expect(MPI_Bcast(buffer, 16, MPI_INT, 1, comm), REVOKED, "waiting broadcast");
        expect(MPI_Bcast(buffer, 16, MPI_INT, 0, comm), REVOKED, "broadcast after it");
        return;
    }
    sleep_ms(300);
    revoke();
}

/* What comes after it, where nobody has to wait. */
static void revoked_before(void)
{
    int rank = rank_of(comm);

    if (rank == 1)
        revoke();
    else
        expect(MPI_Bcast(buffer, 16, MPI_INT, 1, comm), REVOKED, "broadcast");
    if (rank == 1)
        expect(MPI_Bcast(buffer, 16, MPI_INT, 1, comm), REVOKED, "root's broadcast");
    for (int i = 0; i < 3; i++)
        expect(MPI_Barrier(comm), REVOKED, "barrier");
    int sums[16];
    expect(MPI_Allreduce(buffer, sums, 16, MPI_INT, MPI_SUM, comm), REVOKED, "allreduce");
}

static void killed(void)
{
    if (rank_of(comm) == 1)
        raise(SIGKILL);
    expect(MPI_Barrier(comm), PROC_FAILED, "barrier");
    printf("PASS failing\n");
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 0); /* nobody to end with */
}

static const struct {
    const char *name;
    void (*run)(void);
} CASES[] = {
    {"revoked-waiting", revoked_waiting},
    {"revoked-before", revoked_before},
    {"killed", killed},
};

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (uint64_t i = 0; i < 20; i++)
        checked_bcast(comm, sizeof buffer, 1, i);
    CALL(MPI_Barrier(comm));
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        if (argc > 1 && strcmp(argv[1], CASES[i].name) == 0)
            CASES[i].run();
    CALL(MPI_Comm_free(&comm));
    return test_end();
}
