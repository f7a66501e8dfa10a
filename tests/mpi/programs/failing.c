/* SPDX-License-Identifier: BSD-3-Clause */
/* Fault tolerance of the MPI: what calls come to where a communicator is revoked, or a rank ends.
 * Two ranks; of the cases whose names begin with "nodes" some on each of several nodes.
 *
 * usage: failing CASE, one of the table below */
#include "support.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Of Open MPI 5.0, by the numbers that its header has. */
enum { PROC_FAILED = 75, REVOKED = 77 };

static int buffer[16];
static MPI_Comm comm;

static void take(void *target, const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);

    CHECK(function != NULL, "no %s", name);
    memcpy(target, &function, sizeof function);
}

static void revoke(void)
{
    int (*revoking)(MPI_Comm);

    take(&revoking, "MPIX_Comm_revoke");
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

/* What a call that failed was to receive into is the program's again at once: here nothing is left
 * of it. Those that remain go on together. */
static void revoked_over_nodes(void)
{
    enum { BYTES = 8 << 20 };
    char *data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*shrink)(MPI_Comm, MPI_Comm *);
    MPI_Comm smaller;
    int ones = 0, one = 1;

    take(&shrink, "MPIX_Comm_shrink");
    CHECK(data != MAP_FAILED, "no memory");
    memset(data, 1, BYTES);
    if (rank_of(comm) == 0) {
        sleep_ms(300);
        revoke();
    } else {
        expect(MPI_Bcast(data, BYTES, MPI_BYTE, 0, comm), REVOKED, "broadcast over nodes");
    }
    munmap(data, BYTES);
    CALL(shrink(comm, &smaller));
    for (uint64_t i = 0; i < 20; i++)
        checked_bcast(smaller, sizeof buffer, 1, i);
    CALL(MPI_Allreduce(&one, &ones, 1, MPI_INT, MPI_SUM, smaller));
    CHECK(ones == size_of(comm), "%d ranks remain", ones);
    CALL(MPI_Comm_free(&smaller));
}

/* The first call that moves parts, for which all ranks get ready together, when one has ended. */
static void killed_over_nodes(void)
{
    int rank = rank_of(comm), size = size_of(comm), class = MPI_SUCCESS;
    int *all = calloc((size_t)size, sizeof *all);

    if (rank == size - 1)
        raise(SIGKILL);
    sleep_ms(1000);
    MPI_Error_class(MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm), &class);
    free(all);
    CHECK(class == PROC_FAILED || class == REVOKED, "allgather: class %d", class);
    if (rank > 0) {
        MPI_Send(&class, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Recv(&class, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Abort(MPI_COMM_WORLD, 0);
    }
    for (int other = 1; other < size - 1; other++)
        MPI_Recv(&class, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fprintf(stderr, "PASS failing\n");
    for (int other = 1; other < size - 1; other++)
        MPI_Send(&class, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
    MPI_Abort(MPI_COMM_WORLD, 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} CASES[] = {
    {"revoked-waiting", revoked_waiting},  {"revoked-before", revoked_before},  {"killed", killed},
    {"nodes-revoked", revoked_over_nodes}, {"nodes-killed", killed_over_nodes},
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
