/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank expects less from another than that sends. It alone is told, by the user's error
 * handler, nothing is written beyond what it expects, the others' data is right, and the
 * communicator goes on. No host promises that much. */
#include "moving.h"

#include <stdlib.h>
#include <string.h>

static int calls;
static int last_class;
static int rank, size;
static int *out, *in, *counts, *places, *mine;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    calls++;
    MPI_Error_class(*code, &last_class);
}

static int value(int from, int to, int n, int k)
{
    return ((from * 31 + to) * 31 + n) * 7 + k;
}

/* The ranks between which the numbers differ. */
static int source(enum moving which)
{
    return which == GATHERV ? size - 1 : 0;
}

static int victim(enum moving which)
{
    return which == GATHERV ? 0 : size - 1;
}

static void prepare(enum moving which, int n, int missing)
{
    for (int i = 0; i < size; i++) {
        int to = which == GATHERV || which == ALLGATHERV ? 0 : i;
        counts[i] = mine[i] = n;
        places[i] = i * n;
        for (int k = 0; k < n; k++) {
            out[i * n + k] = value(rank, to, n, k);
            in[i * n + k] = -1;
        }
    }
    if (rank == victim(which))
        counts[source(which)] -= missing;
}

static void check_part(enum moving which, int part, int from, int n, int missing)
{
    bool short_one = rank == victim(which) && from == source(which);
    int to = which == GATHERV || which == ALLGATHERV ? 0 : rank;
    for (int k = 0; k < n; k++) {
        int found = in[part * n + k], expected = value(from, to, n, k);
        if (short_one && missing > 0 && found == -1)
            continue;
        CHECK(found == expected && (!short_one || k < n - missing),
              "MPI_%s of %d: element %d from %d is %d, not %d", moving_name(which), n, k, from,
              found, expected);
    }
}

static void check(enum moving which, int n, int missing)
{
    bool all = which >= ALLGATHER || (which == GATHERV && rank == 0);
    for (int part = 0; part < size && all; part++)
        check_part(which, part, part, n, missing);
    if (which == SCATTERV)
        check_part(which, 0, 0, n, missing);
}

static void run(MPI_Comm comm, enum moving which, int n, int missing)
{
    prepare(which, n, missing);
    struct side send = {out, n, mine, places, MPI_INT, NULL};
    struct side receive = {in, n, counts, places, MPI_INT, NULL};
    if (which == SCATTERV && rank == victim(which))
        receive.count = n - missing;
    int before = calls;
    int status = moving_call(which, PROGRAM, &send, &receive, 0, comm);
    bool told = missing > 0 && rank == victim(which);
    CHECK(calls == before + told, "MPI_%s of %d less %d: %d calls of the handler",
          moving_name(which), n, missing, calls - before);
    CHECK((status != MPI_SUCCESS) == told, "MPI_%s of %d less %d returned %d", moving_name(which),
          n, missing, status);
    CHECK(!told || last_class == MPI_ERR_TRUNCATE, "class %d", last_class);
    check(which, n, missing);
}

/* One rank says that it receives less of its own part than it sends. */
static void run_own(MPI_Comm comm, int n)
{
    int last = size - 1, few = 2;
    bool told = rank == last;

    prepare(ALLGATHERV, n, 0);
    for (int i = 0; i < size; i++)
        counts[i] = i == last && !told ? n : few;
    struct side send = {out, told ? n : few, mine, places, MPI_INT, NULL};
    struct side receive = {in, n, counts, places, MPI_INT, NULL};
    int before = calls;
    int status = moving_call(ALLGATHERV, PROGRAM, &send, &receive, 0, comm);
    CHECK(calls == before + told && (status != MPI_SUCCESS) == told,
          "own part of %d: returned %d, %d calls of the handler", n, status, calls - before);
    CHECK(!told || last_class == MPI_ERR_TRUNCATE, "class %d", last_class);
    for (int i = 0; i < size * n; i++) {
        int from = i / n, k = i % n;
        bool lost = k >= counts[from] || (told && from == last);
        CHECK(in[i] == value(from, 0, n, k) ? k < counts[from] : lost && in[i] == -1,
              "own part of %d: element %d from %d is %d", n, k, from, in[i]);
    }
}

int main(int argc, char **argv)
{
    static const int COUNTS[] = {2, 14, 250, 5000, 300000};
    static const int OWN[] = {14, 100, 250, 5000};
    static const enum moving WHICH[] = {SCATTERV, GATHERV, ALLGATHERV, ALLTOALLV};
    MPI_Errhandler own;
    MPI_Comm comm;
    test_begin(&argc, &argv);
    moving_begin();
    rank = rank_of(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    out = malloc((size_t)size * 300000 * sizeof *out);
    in = malloc((size_t)size * 300000 * sizeof *in);
    counts = malloc((size_t)size * sizeof *counts);
    mine = malloc((size_t)size * sizeof *mine);
    places = malloc((size_t)size * sizeof *places);
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_create_errhandler(handler, &own));
    CALL(MPI_Comm_set_errhandler(comm, own));
    for (size_t w = 0; w < sizeof WHICH / sizeof *WHICH; w++)
        for (size_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; c++)
            for (int missing = 1; missing >= 0; missing--)
                run(comm, WHICH[w], COUNTS[c], missing * (1 + COUNTS[c] / 3));
    for (size_t c = 0; c < sizeof OWN / sizeof *OWN; c++)
        run_own(comm, OWN[c]);
    CALL(MPI_Errhandler_free(&own));
    CALL(MPI_Comm_free(&comm));
    free(out);
    free(in);
    free(counts);
    free(mine);
    free(places);
    return test_end();
}
