/* SPDX-License-Identifier: BSD-3-Clause */
/* Every collective with several sizes, checked; again after rank 1 has made a child, and on a
 * communicator that comes and goes. Nothing that was opened or mapped is left behind.
 *
 * usage: everything [exit | exec | continue]   what the child does */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS_MOST = 8, ELEMENTS_MOST = 40000 };

static int rank, size, out[RANKS_MOST * ELEMENTS_MOST], in[RANKS_MOST * ELEMENTS_MOST];

/* What `from` gives `to`, at element i. */
static int given(int from, int to, int i)
{
    return from * 1000003 + to * 10007 + i;
}

static void prepare(int n, bool to_each)
{
    for (int to = 0; to < (to_each ? size : 1); to++)
        for (int i = 0; i < n; i++)
            out[to * n + i] = given(rank, to_each ? to : 0, i);
    memset(in, 0xee, sizeof in[0] * (size_t)(size * n));
}

/* The block from each rank. */
static void check_blocks(const char *name, int n, int to)
{
    for (int from = 0; from < size; from++)
        for (int i = 0; i < n; i++)
            CHECK(in[from * n + i] == given(from, to, i), "%s of %d: element %d from %d", name, n,
                  i, from);
}

/* The sum over ranks [0, until), of elements that begin at `first`. */
static void check_sum(const char *name, int n, int until, int first)
{
    for (int i = 0; i < n; i++) {
        unsigned sum = 0;
        for (int from = 0; from < until; from++)
            sum += (unsigned)given(from, 0, first + i);
        CHECK((unsigned)in[i] == sum, "%s of %d: element %d", name, n, i);
    }
}

static void rooted(MPI_Comm comm, int n, int root, const int *counts, const int *places)
{
    prepare(n, true);
    CALL(MPI_Scatter(out, n, MPI_INT, in, n, MPI_INT, root, comm));
    for (int i = 0; i < n; i++)
        CHECK(in[i] == given(root, rank, i), "scatter of %d: element %d", n, i);
    CALL(MPI_Scatterv(out, counts, places, MPI_INT, in, n, MPI_INT, root, comm));
    for (int i = 0; i < n; i++)
        CHECK(in[i] == given(root, rank, i), "scatterv of %d: element %d", n, i);
    prepare(n, false);
    CALL(MPI_Gather(out, n, MPI_INT, in, n, MPI_INT, root, comm));
    if (rank == root)
        check_blocks("gather", n, 0);
    prepare(n, false);
    CALL(MPI_Gatherv(out, n, MPI_INT, in, counts, places, MPI_INT, root, comm));
    if (rank == root)
        check_blocks("gatherv", n, 0);
    prepare(n, false);
    CALL(MPI_Reduce(out, in, n, MPI_INT, MPI_SUM, root, comm));
    if (rank == root)
        check_sum("reduce", n, size, 0);
    checked_bcast(comm, (size_t)n * sizeof out[0], root, (uint64_t)n);
}

static void exchanged(MPI_Comm comm, int n, const int *counts, const int *places)
{
    int bytes[RANKS_MOST];
    MPI_Datatype types[RANKS_MOST];
    for (int i = 0; i < size; i++) {
        bytes[i] = places[i] * (int)sizeof out[0];
        types[i] = MPI_INT;
    }
    prepare(n, false);
    CALL(MPI_Allgather(out, n, MPI_INT, in, n, MPI_INT, comm));
    check_blocks("allgather", n, 0);
    prepare(n, false);
    CALL(MPI_Allgatherv(out, n, MPI_INT, in, counts, places, MPI_INT, comm));
    check_blocks("allgatherv", n, 0);
    prepare(n, true);
    CALL(MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, comm));
    check_blocks("alltoall", n, rank);
    prepare(n, true);
    CALL(MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, comm));
    check_blocks("alltoallv", n, rank);
    prepare(n, true);
    CALL(MPI_Alltoallw(out, counts, bytes, types, in, counts, bytes, types, comm));
    check_blocks("alltoallw", n, rank);
}

static void combined(MPI_Comm comm, int n, const int *counts)
{
    prepare(n, false);
    CALL(MPI_Allreduce(out, in, n, MPI_INT, MPI_SUM, comm));
    check_sum("allreduce", n, size, 0);
    CALL(MPI_Scan(out, in, n, MPI_INT, MPI_SUM, comm));
    check_sum("scan", n, rank + 1, 0);
    CALL(MPI_Exscan(out, in, n, MPI_INT, MPI_SUM, comm));
    if (rank > 0)
        check_sum("exscan", n, rank, 0);
    prepare(size * n, false);
    CALL(MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm));
    check_sum("reduce_scatter", n, size, rank * n);
    CALL(MPI_Reduce_scatter_block(out, in, n, MPI_INT, MPI_SUM, comm));
    check_sum("reduce_scatter_block", n, size, rank * n);
}

static void call_everything(MPI_Comm comm)
{
    static const int elements[] = {1, 700, ELEMENTS_MOST};
    for (size_t s = 0; s < sizeof elements / sizeof elements[0]; s++) {
        int n = elements[s], counts[RANKS_MOST], places[RANKS_MOST];
        for (int i = 0; i < size; i++) {
            counts[i] = n;
            places[i] = i * n;
        }
        rooted(comm, n, (int)s % size, counts, places);
        exchanged(comm, n, counts, places);
        combined(comm, n, counts);
        CALL(MPI_Barrier(comm));
    }
}

/* The child writes over all that it has of the parent's, too. */
static void make_child(const char *way)
{
    pid_t child = fork();
    int status;
    CHECK(child >= 0, "no child");
    if (child == 0) {
        memset(in, 0x11, sizeof in);
        memset(out, 0x22, sizeof out);
        if (strcmp(way, "exit") == 0)
            exit(0);
        if (strcmp(way, "exec") == 0)
            execl("/bin/true", "true", (char *)NULL);
        sleep_ms(100);
        _exit(holdings().maps == 0 ? 0 : 1);
    }
    call_everything(MPI_COMM_SELF);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child ended with %d", status);
}

static void come_and_go(void)
{
    MPI_Comm copy;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    call_everything(copy);
    CALL(MPI_Comm_free(&copy));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    rank = rank_of(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    CHECK(size <= RANKS_MOST, "at most %d ranks", RANKS_MOST);
    for (int i = 0; i < 3; i++) {
        call_everything(MPI_COMM_WORLD);
        come_and_go();
    }
    struct holdings before = holdings();
    if (argc > 1 && rank == size - 1) {
        rank = 0;
        size = 1;
        make_child(argv[1]);
        rank = rank_of(MPI_COMM_WORLD);
        size = size_of(MPI_COMM_WORLD);
    }
    for (int i = 0; i < 3; i++) {
        call_everything(MPI_COMM_WORLD);
        come_and_go();
    }
    check_holdings(before);
    return test_end();
}
