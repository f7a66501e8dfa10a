/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives as plain programs time them, for bench/plain/run.py: nothing of Sobor is used.
 *
 * usage: plain OPERATION METHOD LOWEST HIGHEST STEP SECONDS OFFSET
 *
 *   METHOD   single: each call timed by itself after a barrier, mean over calls and ranks;
 *            row: calls one after the other, the whole divided by their number, slowest rank;
 *            turn: the same, with the next root at each call
 *   LOWEST HIGHEST STEP   bytes: of all the data of a broadcast or reduction, else of a block
 *   SECONDS  0: as many calls as the usual suites make, 1,000 up to 8 KiB, 100 above, and a tenth
 *            before that does not count; else for about so long at each size
 *   OFFSET   of the buffers from the beginning of a page; 16 is what malloc gives
 *
 * Prints the round trip of a cache line between ranks 0 and 1 in microseconds, then for each size
 * its bytes and microseconds. */
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, SHORT = 8192, MOST = 1024, LINE_TURNS = 20000, LOOKS = 1 << 14 };

static int rank, ranks, root;
static char *from, *into;
static int bytes, counts[MOST], starts[MOST], parts[MOST];
static MPI_Datatype types[MOST];

typedef struct operation {
    const char *name;
    void (*call)(void);
    bool sums; /* works on `bytes` in all, floats */
} operation_t;

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(void)
{
    MPI_Bcast(from, bytes, MPI_CHAR, root, MPI_COMM_WORLD);
}

static void reduce(void)
{
    MPI_Reduce(from, into, bytes / 4, MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD);
}

static void allreduce(void)
{
    MPI_Allreduce(from, into, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_scatter(void)
{
    MPI_Reduce_scatter(from, into, parts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_scatter_block(void)
{
    MPI_Reduce_scatter_block(from, into, parts[0], MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void scan(void)
{
    MPI_Scan(from, into, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void exscan(void)
{
    MPI_Exscan(from, into, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void gather(void)
{
    MPI_Gather(from, bytes, MPI_CHAR, into, bytes, MPI_CHAR, root, MPI_COMM_WORLD);
}

static void gatherv(void)
{
    MPI_Gatherv(from, bytes, MPI_CHAR, into, counts, starts, MPI_CHAR, root, MPI_COMM_WORLD);
}

static void scatter(void)
{
    MPI_Scatter(from, bytes, MPI_CHAR, into, bytes, MPI_CHAR, root, MPI_COMM_WORLD);
}

static void scatterv(void)
{
    MPI_Scatterv(from, counts, starts, MPI_CHAR, into, bytes, MPI_CHAR, root, MPI_COMM_WORLD);
}

static void allgather(void)
{
    MPI_Allgather(from, bytes, MPI_CHAR, into, bytes, MPI_CHAR, MPI_COMM_WORLD);
}

static void allgatherv(void)
{
    MPI_Allgatherv(from, bytes, MPI_CHAR, into, counts, starts, MPI_CHAR, MPI_COMM_WORLD);
}

static void alltoall(void)
{
    MPI_Alltoall(from, bytes, MPI_CHAR, into, bytes, MPI_CHAR, MPI_COMM_WORLD);
}

static void alltoallv(void)
{
    MPI_Alltoallv(from, counts, starts, MPI_CHAR, into, counts, starts, MPI_CHAR, MPI_COMM_WORLD);
}

static void alltoallw(void)
{
    MPI_Alltoallw(from, counts, starts, types, into, counts, starts, types, MPI_COMM_WORLD);
}

static const operation_t operations[] = {
    {"barrier", barrier, false},
    {"bcast", bcast, false},
    {"reduce", reduce, true},
    {"allreduce", allreduce, true},
    {"reduce_scatter", reduce_scatter, true},
    {"reduce_scatter_block", reduce_scatter_block, true},
    {"scan", scan, true},
    {"exscan", exscan, true},
    {"gather", gather, false},
    {"gatherv", gatherv, false},
    {"scatter", scatter, false},
    {"scatterv", scatterv, false},
    {"allgather", allgather, false},
    {"allgatherv", allgatherv, false},
    {"alltoall", alltoall, false},
    {"alltoallv", alltoallv, false},
    {"alltoallw", alltoallw, false},
};

static const operation_t *find(const char *name)
{
    for (size_t k = 0; k < sizeof operations / sizeof *operations; k++)
        if (strcmp(operations[k].name, name) == 0)
            return &operations[k];
    fprintf(stderr, "plain: no operation '%s'\n", name);
    exit(2);
}

static char *buffer(size_t size, size_t offset)
{
    char *base = aligned_alloc(PAGE, (size / PAGE + 2) * PAGE);
    if (base == NULL)
        abort();
    memset(base, 1, (size / PAGE + 2) * PAGE);
    return base + offset;
}

static void set_sizes(int now)
{
    bytes = now;
    for (int k = 0; k < ranks; k++) {
        counts[k] = now;
        starts[k] = k * now;
        parts[k] = now / 4 / ranks + (k < now / 4 % ranks);
        types[k] = MPI_CHAR;
    }
}

/* Seconds of `calls` calls as this rank sees them, barriers beside. */
static double run(const operation_t *operation, const char *method, long calls)
{
    bool single = strcmp(method, "single") == 0, turn = strcmp(method, "turn") == 0;
    double took = 0;
    root = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    for (long k = 0; k < calls; k++) {
        if (turn)
            root = (int)(k % ranks);
        if (single) {
            double alone = MPI_Wtime();
            operation->call();
            took += MPI_Wtime() - alone;
            MPI_Barrier(MPI_COMM_WORLD);
        } else
            operation->call();
    }
    return single ? took : MPI_Wtime() - began;
}

/* How many calls take about so many seconds: rank 0 says. */
static long calls_of(const operation_t *operation, const char *method, double seconds)
{
    if (seconds == 0)
        return bytes > SHORT ? 100 : 1000;
    double took = 0;
    long calls = 2;
    while (took < seconds / 8) {
        calls *= 2;
        took = run(operation, method, calls);
        MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    return (long)((double)calls * seconds / took) + 1;
}

static double time_size(const operation_t *operation, const char *method, double seconds)
{
    long calls = calls_of(operation, method, seconds);
    run(operation, method, calls / 10);
    double took = run(operation, method, calls) / (double)calls, sum = 0, longest = 0;
    MPI_Reduce(&took, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return strcmp(method, "single") == 0 ? sum / ranks : longest;
}

/* Where other jobs have the processors, the other rank may have none: it waits until this one's
 * time is over, at each turn, if nothing is given away. No turn on processors of their own takes so
 * many looks. */
static void await_turn(const _Atomic uint32_t *word, uint32_t value)
{
    for (uint32_t looks = 0; atomic_load_explicit(word, memory_order_acquire) != value; looks++) {
        if (looks >= LOOKS)
            sched_yield();
    }
}

static double line(void)
{
    MPI_Win window;
    MPI_Aint size;
    int unit;
    _Atomic uint32_t *word;
    MPI_Win_allocate_shared(rank == 0 ? 256 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &word, &window);
    MPI_Win_shared_query(window, 0, &size, &unit, &word);
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    for (uint32_t turn = 0; turn < LINE_TURNS && rank < 2; turn++) {
        /* Release and acquire of the same word: each rank's step of a turn for the other's wait. */
        if (rank == 1)
            await_turn(word, 2 * turn + 1);
        atomic_store_explicit(word, 2 * turn + 1 + (uint32_t)rank, memory_order_release);
        if (rank == 0)
            await_turn(word, 2 * turn + 2);
    }
    double took = (MPI_Wtime() - began) / LINE_TURNS;
    MPI_Win_free(&window);
    return took;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 8 || ranks > MOST) {
        fprintf(stderr, "usage: plain OPERATION METHOD LOWEST HIGHEST STEP SECONDS OFFSET\n");
        return 2;
    }
    const operation_t *operation = find(argv[1]);
    int highest = atoi(argv[4]), step = atoi(argv[5]);
    size_t room = (size_t)highest * (operation->sums ? 1 : (size_t)ranks) + PAGE;
    from = buffer(room, strtoul(argv[7], NULL, 0));
    into = buffer(room, strtoul(argv[7], NULL, 0));
    /* Ranks that share processors would wait their turns for every line. */
    double trip = ranks == 2 ? line() : 0;
    if (rank == 0)
        printf("%.3f\n", trip * 1e6);
    for (long size = atoi(argv[3]); size <= highest; size *= step) {
        set_sizes((int)size);
        double took = time_size(operation, argv[2], atof(argv[6]));
        if (rank == 0)
            printf("%ld %.4f\n", size, took * 1e6);
    }
    MPI_Finalize();
    return 0;
}
