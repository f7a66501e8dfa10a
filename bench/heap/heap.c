/* SPDX-License-Identifier: BSD-3-Clause */
/* Data that is written anew, an operation, its result read: for bench/heap/run.py. Nothing of Sobor
 * is used.
 *
 * usage: heap OPERATION PART BUFFERS LOWEST HIGHEST STEP SECONDS OFFSET [BESIDE]
 *
 *   PART     call: a barrier after the writing, then the operation and the reading are timed, mean
 *            over ranks; bare: the operation alone; loop: writing, operation and reading without a
 *            barrier, the whole divided by its number, slowest rank
 *   BUFFERS  same: one of each kind; others: with each round the next ones, in so much memory that
 *            second-level caches do not hold it
 *   LOWEST HIGHEST STEP   bytes: of all the data of a broadcast or reduction, else of a block
 *   SECONDS  for about so long at each size
 *   OFFSET   of buffers from the beginning of a page; 16 is what malloc gives; 16:8: of results 24
 *   BESIDE   what is timed in turns with it. others: the same with buffers that are not malloc's,
 *            which no heap shares, on a communicator of their own; of two ranks, a loop of
 *            bench/limits in the place of MPI that reads the other's buffers where they are
 *            (direct), or that does so and sums by halves (halves)
 *
 * Prints the round trip of a cache line between ranks 0 and 1 in microseconds, then for each size
 * its bytes, microseconds, and those of what is beside. */
#define _GNU_SOURCE
#include "../limits/limit.h"

#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, LINE_TURNS = 20000, LOOKS = 1 << 14, OTHERS = 64 << 20, TURNS = 16 };

static int rank, ranks;
static int bytes;
static float *from, *into; /* of this round */
static long turn;
static MPI_Comm comm = MPI_COMM_WORLD;

/* Who writes, and who has a result. */
typedef enum part { ALL, ROOT, NOT_ROOT, FIRST, SECOND } part_t;

typedef struct operation {
    const char *name;
    void (*call)(void);
    part_t writes, reads;
    bool sums;     /* works on `bytes` in all */
    bool in_place; /* the result is where the data was */
} operation_t;

static void bcast(void)
{
    MPI_Bcast(from, bytes, MPI_CHAR, 0, comm);
}

static void reduce(void)
{
    MPI_Reduce(from, into, bytes / 4, MPI_FLOAT, MPI_SUM, 0, comm);
}

static void allreduce(void)
{
    MPI_Allreduce(from, into, bytes / 4, MPI_FLOAT, MPI_SUM, comm);
}

static void allreduce_in_place(void)
{
    MPI_Allreduce(MPI_IN_PLACE, from, bytes / 4, MPI_FLOAT, MPI_SUM, comm);
}

static void reduce_scatter_block(void)
{
    MPI_Reduce_scatter_block(from, into, bytes / 4, MPI_FLOAT, MPI_SUM, comm);
}

static void scatter(void)
{
    MPI_Scatter(from, bytes, MPI_CHAR, into, bytes, MPI_CHAR, 0, comm);
}

static void gather(void)
{
    MPI_Gather(from, bytes, MPI_CHAR, into, bytes, MPI_CHAR, 0, comm);
}

static void allgather(void)
{
    MPI_Allgather(from, bytes, MPI_CHAR, into, bytes, MPI_CHAR, comm);
}

static void alltoall(void)
{
    MPI_Alltoall(from, bytes, MPI_CHAR, into, bytes, MPI_CHAR, comm);
}

/* One way of a message; the ways alternate. */
static void message(void)
{
    if (rank == turn % 2)
        MPI_Send(from, bytes, MPI_CHAR, !rank, 0, comm);
    else if (rank < 2)
        MPI_Recv(into, bytes, MPI_CHAR, !rank, 0, comm, MPI_STATUS_IGNORE);
}

static const operation_t operations[] = {
    {"bcast", bcast, ROOT, NOT_ROOT, true, true},
    {"reduce", reduce, ALL, ROOT, true, false},
    {"allreduce", allreduce, ALL, ALL, true, false},
    {"allreduce_in_place", allreduce_in_place, ALL, ALL, true, true},
    {"reduce_scatter_block", reduce_scatter_block, ALL, ALL, false, false},
    {"scatter", scatter, ROOT, ALL, false, false},
    {"gather", gather, ALL, ROOT, false, false},
    {"allgather", allgather, ALL, ALL, false, false},
    {"alltoall", alltoall, ALL, ALL, false, false},
    {"message", message, FIRST, SECOND, true, false},
};

static struct limit limit;

static void limit_of_bcast(void)
{
    limit_broadcast(&limit, from, (size_t)bytes, 0);
}

static void limit_of_allgather(void)
{
    limit_allgather(&limit, from, into, (size_t)bytes);
}

static void limit_of_alltoall(void)
{
    limit_alltoall(&limit, from, into, (size_t)bytes);
}

static void limit_of_allreduce(void)
{
    limit_allreduce(&limit, from, into, (size_t)bytes, LIMIT_FLOAT);
}

static const operation_t limits[] = {
    {"bcast", limit_of_bcast, ROOT, NOT_ROOT, true, true},
    {"allgather", limit_of_allgather, ALL, ALL, false, false},
    {"alltoall", limit_of_alltoall, ALL, ALL, false, false},
    {"allreduce", limit_of_allreduce, ALL, ALL, true, false},
};

static const operation_t *find(const char *name, const operation_t *of, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (strcmp(of[k].name, name) == 0)
            return &of[k];
    fprintf(stderr, "heap: no operation '%s'\n", name);
    exit(2);
}

static bool takes_part(part_t part)
{
    switch (part) {
    case ALL:
        return true;
    case ROOT:
        return rank == 0;
    case NOT_ROOT:
        return rank != 0;
    case FIRST:
        return rank == turn % 2;
    case SECOND:
        break;
    }
    return rank < 2 && rank != turn % 2;
}

static bool is(const operation_t *operation, const char *name)
{
    return strcmp(operation->name, name) == 0;
}

/* Bytes that a rank gives, and that it gets. */
static size_t given(const operation_t *operation, size_t size)
{
    bool many = is(operation, "alltoall") || is(operation, "scatter") ||
                is(operation, "reduce_scatter_block");
    return many ? size * (size_t)ranks : size;
}

static size_t taken(const operation_t *operation, size_t size)
{
    bool many = is(operation, "allgather") || is(operation, "alltoall") ||
                (is(operation, "gather") && rank == 0);
    return many ? size * (size_t)ranks : size;
}

static void put(float *data, size_t size)
{
    float value = (float)(turn % 64);
    for (size_t k = 0; k < size / sizeof *data; k++)
        data[k] = value + (float)(k & 15);
}

static float look(const float *data, size_t size)
{
    float sum[16] = {0}, all = 0;
    for (size_t k = 0; k + 16 <= size / sizeof *data; k += 16)
        for (size_t i = 0; i < 16; i++)
            sum[i] += data[k + i];
    for (size_t i = 0; i < 16; i++)
        all += sum[i];
    return all;
}

static volatile float seen;

static _Atomic uint32_t *words; /* [0]: the line; [64]: arrivals */

/* The same one for all sides of a comparison. */
static void meet(void)
{
    static uint32_t before;
    before += (uint32_t)ranks;
    atomic_fetch_add(&words[64], 1);
    while (atomic_load_explicit(&words[64], memory_order_acquire) < before)
        if (ranks > 2)
            sched_yield();
}

typedef struct buffers {
    char *from, *into;
    size_t apart_from, apart_into;
    long count;
    char *theirs; /* of a limit: where the other's two can be read, in its order */
    uint64_t there;
} buffers_t;

static buffers_t buffers, beside;

static size_t whole_pages(size_t size)
{
    return (size / PAGE + 2) * PAGE;
}

static char *area(size_t size)
{
    char *base = aligned_alloc(PAGE, size);
    if (base == NULL)
        abort();
    memset(base, 0, size);
    return base;
}

/* Not malloc's. */
static char *mapped(size_t size)
{
    char *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        abort();
    memset(base, 0, size);
    return base;
}

/* What is beside in memory that both have mapped, as the heap's is: an anonymous file. */
static void share_areas(size_t room)
{
    struct mine {
        uint64_t base;
        int process, file;
    } mine = {.process = getpid(), .file = memfd_create("limit", 0)}, of[2];
    char path[64];
    if (ranks != 2 || mine.file < 0 || ftruncate(mine.file, (off_t)(2 * room)) != 0)
        abort();
    beside.from = mmap(NULL, 2 * room, PROT_READ | PROT_WRITE, MAP_SHARED, mine.file, 0);
    beside.into = beside.from + room;
    memset(beside.from, 0, 2 * room);
    mine.base = (uintptr_t)beside.from;
    MPI_Allgather(&mine, sizeof mine, MPI_CHAR, of, sizeof mine, MPI_CHAR, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", of[!rank].process, of[!rank].file);
    int file = open(path, O_RDONLY);
    beside.theirs = mmap(NULL, 2 * room, PROT_READ, MAP_SHARED, file, 0);
    beside.there = of[!rank].base;
    if (beside.from == MAP_FAILED || file < 0 || beside.theirs == MAP_FAILED)
        abort();
}

static const void *reach(uint64_t address, size_t size)
{
    (void)size;
    return buffers.theirs + (address - buffers.there);
}

static void lay_out(const operation_t *operation, bool others)
{
    size_t size = (size_t)bytes;
    buffers.apart_from = whole_pages(given(operation, size));
    buffers.apart_into = whole_pages(taken(operation, size));
    buffers.count = others ? (long)(OTHERS / (buffers.apart_from + buffers.apart_into)) : 1;
    /* All ranks alike. */
    MPI_Allreduce(MPI_IN_PLACE, &buffers.count, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
    beside.apart_from = buffers.apart_from;
    beside.apart_into = buffers.apart_into;
    beside.count = buffers.count;
}

static void next_buffers(const char *offset)
{
    char *end;
    size_t k = (size_t)(turn % buffers.count), shift = strtoul(offset, &end, 0);
    size_t behind = *end == ':' ? strtoul(end + 1, NULL, 0) : 0;
    from = (float *)(void *)(buffers.from + k * buffers.apart_from + shift);
    into = (float *)(void *)(buffers.into + k * buffers.apart_into + shift + behind);
}

/* Seconds of so many rounds as this rank sees them. */
static double run(const operation_t *operation, const char *part, long rounds, const char *offset)
{
    bool loop = strcmp(part, "loop") == 0, bare = strcmp(part, "bare") == 0;
    size_t size = (size_t)bytes;
    double took = 0, called, done;
    meet();
    double began = MPI_Wtime();
    for (long k = 0; k < rounds; k++, turn++) {
        next_buffers(offset);
        if (takes_part(operation->writes))
            put(from, given(operation, size));
        if (!loop)
            meet();
        called = MPI_Wtime();
        operation->call();
        done = MPI_Wtime();
        if (takes_part(operation->reads))
            seen = look(operation->in_place ? from : into, taken(operation, size));
        /* Who only sends a message does not see when it is there. */
        if (!is(operation, "message") || takes_part(operation->reads))
            took += bare ? done - called : MPI_Wtime() - called;
        if (!loop)
            meet();
    }
    return loop ? MPI_Wtime() - began : took;
}

/* From now on what is timed has the other buffers, and their communicator. */
static void turn_round(void)
{
    static MPI_Comm other = MPI_COMM_NULL;
    if (other == MPI_COMM_NULL)
        MPI_Comm_dup(comm, &other);
    MPI_Comm before = comm;
    buffers_t were = buffers;
    comm = other;
    other = before;
    buffers = beside;
    beside = were;
}

/* Mean of ranks, or the slowest one; at rank 0. */
static double of_all(const operation_t *operation, const char *part, double took)
{
    double sum = 0, longest = 0;
    MPI_Reduce(&took, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (strcmp(part, "loop") == 0)
        return longest;
    return is(operation, "message") ? sum : sum / ranks;
}

/* In turns with what is beside. */
static void time_both(const operation_t *const of[2], const char *part, long rounds,
                      const char *offset, double took[2])
{
    took[0] = took[1] = 0;
    for (int k = 0; k < 2 * TURNS; k++, turn_round())
        took[k % 2] += run(of[k % 2], part, rounds / TURNS + 1, offset);
    for (int k = 0; k < 2; k++)
        took[k] = of_all(of[k], part, took[k] / (double)(TURNS * (rounds / TURNS + 1)));
}

static void time_size(const operation_t *const of[2], char **words_of, double times[2])
{
    const operation_t *operation = of[0];
    const char *part = words_of[2], *offset = words_of[8];
    double seconds = atof(words_of[7]), took;
    long rounds = 4;
    lay_out(operation, strcmp(words_of[3], "others") == 0);
    while (took = run(operation, "loop", rounds, offset),
           MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD), took < seconds / 8)
        rounds *= 2;
    rounds = (long)((double)rounds * seconds / took) + 1;
    if (of[1] != NULL)
        time_both(of, part, rounds, offset, times);
    else
        times[0] = of_all(operation, part, run(operation, part, rounds, offset) / (double)rounds);
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
    double began = MPI_Wtime();
    for (uint32_t k = 0; k < LINE_TURNS && rank < 2; k++) {
        /* Release and acquire of the same word: each rank's step for the other's wait. */
        if (rank == 1)
            await_turn(words, 2 * k + 1);
        atomic_store_explicit(words, 2 * k + 1 + (uint32_t)rank, memory_order_release);
        if (rank == 0)
            await_turn(words, 2 * k + 2);
    }
    return (MPI_Wtime() - began) / LINE_TURNS;
}

static void *share(size_t size)
{
    MPI_Win window;
    MPI_Aint all;
    int unit;
    void *memory;
    MPI_Win_allocate_shared(rank == 0 ? (MPI_Aint)size : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                            &memory, &window);
    MPI_Win_shared_query(window, 0, &all, &unit, &memory);
    MPI_Barrier(MPI_COMM_WORLD);
    return memory;
}

static void set_limit(const char *name)
{
    /* Lines of one are a multiple of 256 bytes apart. */
    char *room = share(limit_segment_bytes + 256);
    limit = (struct limit){.segment = (void *)(room + (-(uintptr_t)room & 255)),
                           .rank = rank,
                           .form = LIMIT_DIRECT,
                           .reach = reach,
                           .halves = strcmp(name, "halves") == 0};
    if (rank == 0)
        limit_begin(limit.segment);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Makes what is beside ready, and says which operation it is. */
static const operation_t *set_beside(char **words_of, size_t room)
{
    if (strcmp(words_of[9], "others") != 0) {
        share_areas(room);
        set_limit(words_of[9]);
        return find(words_of[1], limits, sizeof limits / sizeof *limits);
    }
    beside.from = mapped(room);
    beside.into = mapped(room);
    return find(words_of[1], operations, sizeof operations / sizeof *operations);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 9 && argc != 10) {
        fprintf(stderr, "usage: heap OPERATION PART BUFFERS LOWEST HIGHEST STEP SECONDS OFFSET"
                        " [BESIDE]\n");
        return 2;
    }
    size_t highest = (size_t)atoi(argv[5]);
    size_t room = strcmp(argv[3], "others") == 0 ? OTHERS : whole_pages(highest * (size_t)ranks);
    const operation_t *of[2] = {find(argv[1], operations, sizeof operations / sizeof *operations)};
    buffers.from = area(room);
    buffers.into = area(room);
    if (argc == 10)
        of[1] = set_beside(argv, room);
    words = share(512);
    /* Ranks that share processors would wait their turns for every line. */
    double trip = ranks == 2 ? line() : 0;
    if (rank == 0)
        printf("%.3f\n", trip * 1e6);
    for (bytes = atoi(argv[4]); (size_t)bytes <= highest; bytes *= atoi(argv[6])) {
        double took[2] = {0};
        time_size(of, argv, took);
        if (rank == 0)
            printf("%d %.4f %.4f\n", bytes, took[0] * 1e6, took[1] * 1e6);
    }
    MPI_Finalize();
    return 0;
}
