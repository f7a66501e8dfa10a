/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of every operation that only moves data, many of each in a row, checked. Every rank must
 * have been served by the same side in each call. For each operation rank 0 prints who that was, a
 * letter for each call: S for Sobor, h for the host.
 *
 * usage: trials CALLS BYTES                what is called: each operation, one after the other
 *        trials CALLS BYTES MICROSECONDS   by which a made-up host is slower from the middle on
 *        trials CALLS BYTES random [SEED]  operations, sizes and communicators by turns */
#include "moving.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MOST = 8, CALLS_MOST = 20000, BYTES_MOST = 1 << 20, BCAST = MOVING };

static MPI_Comm comm;  /* at hand, of all ranks in some order */
static int rank, size; /* in it */
static unsigned char *out, *in;
static char sides[CALLS_MOST + 1], theirs[RANKS_MOST * (CALLS_MOST + 1)];

static bool is_from_one(int which)
{
    return which == SCATTER || which == SCATTERV || which == BCAST;
}

static bool is_to_one(int which)
{
    return which == GATHER || which == GATHERV;
}

/* Every byte of the block that `from` gives `to`. */
static int given(int which, int from, int to, int call)
{
    bool to_each = which >= ALLTOALL || which == SCATTER || which == SCATTERV;

    return (31 * from + (which != BCAST && to_each ? 7 * to : 0) + call) & 0xff;
}

static void check_block(int which, int bytes, int from, int place, int call)
{
    const unsigned char *block = in + (size_t)place * (size_t)bytes;
    int expected = given(which, from, rank, call);

    for (int i = 0; i < bytes; i++)
        CHECK(block[i] == expected, "operation %d, call %d: byte %d of %d from %d", which, call, i,
              bytes, from);
}

static void call_one(int which, int bytes, int root, int call)
{
    int counts[RANKS_MOST], places[RANKS_MOST];
    MPI_Datatype types[RANKS_MOST];

    for (int i = 0; i < size; i++) {
        counts[i] = bytes;
        places[i] = i * bytes;
        types[i] = MPI_BYTE;
        memset(out + (size_t)places[i], given(which, rank, i, call), (size_t)bytes);
        memset(in + (size_t)places[i], ~given(which, i, rank, call), (size_t)bytes);
    }
    const struct side send = {out, bytes, counts, places, MPI_BYTE, types};
    const struct side receive = {in, bytes, counts, places, MPI_BYTE, types};
    if (which == BCAST)
        CALL(MPI_Bcast(rank == root ? out : in, bytes, MPI_BYTE, root, comm));
    else
        CALL(moving_call((enum moving)which, PROGRAM, &send, &receive, root, comm));
    if (is_from_one(which) && (which != BCAST || rank != root))
        check_block(which, bytes, root, 0, call);
    for (int from = 0; from < size && !is_from_one(which); from++) {
        if (!is_to_one(which) || rank == root)
            check_block(which, bytes, from, from, call);
    }
}

static char side_of_last(void)
{
    const char *(*last)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "sobor_last_algorithm");

    return last != NULL && last() != NULL && strcmp(last(), "host") != 0 ? 'S' : 'h';
}

static void use(MPI_Comm next)
{
    comm = next;
    rank = rank_of(comm);
    size = size_of(comm);
}

static void compare_sides(const char *what, int calls)
{
    int (*allgather)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
    *(void **)&allgather = host_function("PMPI_Allgather");
    CALL(allgather(sides, calls, MPI_CHAR, theirs, calls, MPI_CHAR, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++)
        CHECK(memcmp(sides, theirs + (size_t)i * (size_t)calls, (size_t)calls) == 0,
              "%s: rank %d went another way:\n%.*s\n%.*s", what, i, calls, sides, calls,
              theirs + (size_t)i * (size_t)calls);
    if (rank_of(MPI_COMM_WORLD) == 0)
        printf("SIDES %s %.*s\n", what, calls, sides);
}

/* The same draws on every rank, but for who is late. */
static void run_random(int calls, int bytes, uint64_t seed)
{
    MPI_Comm comms[3] = {MPI_COMM_WORLD};
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of(MPI_COMM_WORLD), &comms[2]));
    for (int call = 0; call < calls; call++) {
        uint64_t random = mix(seed, (uint64_t)call);
        use(comms[random_below(&random, 3)]);
        int which = (int)random_below(&random, BCAST + 1);
        int some = 1 + (bytes - 1) / (1 << 3 * random_below(&random, 3));
        int root = (int)random_below(&random, (size_t)size);
        if (random_below(&random, 50) == 0 && (int)random_below(&random, (size_t)size) == rank)
            sleep_ms(1);
        call_one(which, some, root, call);
        sides[call] = side_of_last();
    }
    compare_sides("random", calls);
    CALL(MPI_Comm_free(&comms[1]));
    CALL(MPI_Comm_free(&comms[2]));
}

static void run_row(int which, int calls, int bytes, const char *slower)
{
    for (int call = 0; call < calls; call++) {
        if (slower != NULL && call == calls / 2)
            setenv("HOST_SLOW", slower, 1);
        call_one(which, bytes, call % size, call);
        sides[call] = side_of_last();
    }
    compare_sides(which == BCAST ? "bcast" : moving_name((enum moving)which), calls);
}

static void run_rows(int calls, int bytes, const char *slower)
{
    for (int which = 0; which <= BCAST; which++) {
        if (slower != NULL)
            setenv("HOST_SLOW", "0", 1);
        run_row(which, calls, bytes, slower);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int calls = argc > 2 ? atoi(argv[1]) : 0, bytes = argc > 2 ? atoi(argv[2]) : 0;
    use(MPI_COMM_WORLD);
    CHECK(calls > 0 && calls <= CALLS_MOST && bytes > 0 && bytes <= BYTES_MOST &&
              size <= RANKS_MOST,
          "usage: trials CALLS BYTES [MICROSECONDS | random [SEED]]");
    out = malloc((size_t)size * (size_t)bytes);
    in = malloc((size_t)size * (size_t)bytes);
    CHECK(out != NULL && in != NULL, "no memory");
    moving_begin();
    if (argc > 3 && strcmp(argv[3], "random") == 0)
        run_random(calls, bytes, argc > 4 ? strtoull(argv[4], NULL, 10) : 1);
    else
        run_rows(calls, bytes, argc > 3 ? argv[3] : NULL);
    free(out);
    free(in);
    return test_end();
}
