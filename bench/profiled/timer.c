/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profiler of its own, to hold sobor profile against: it stands in for MPI's functions as the
 * standard foresees it (PMPI), times each call from outside, and writes the sums of each rank into
 * timer-RANK.txt below the folder that TIMER_FOLDER names: operation, calls, nanoseconds. Its own
 * two readings of the clock are in no sum but its own: `empty` has as many pairs of readings with
 * nothing between them. Compiled with AROUND it stands around another copy, which comes behind it
 * in LD_PRELOAD: what the two are apart is what no two profilers can agree better than.
 */
#ifdef AROUND
#define _GNU_SOURCE
#include <dlfcn.h>
#endif
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct sum {
    const char *name;
    uint64_t calls, ns;
} sum_t;

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int add(sum_t *sum, uint64_t since, int error)
{
    sum->ns += now() - since;
    sum->calls++;
    return error;
}

#ifdef AROUND
#define FILE_NAME "around"
#define NEXT(name) next_##name
#define FIND(name)                                                                                 \
    static __typeof__(&PMPI_##name) next_##name;                                                   \
    __attribute__((__constructor__)) static void find_##name(void)                                 \
    {                                                                                              \
        next_##name = (__typeof__(&PMPI_##name))dlsym(RTLD_NEXT, "MPI_" #name);                    \
    }
#else
#define FILE_NAME "timer"
#define NEXT(name) PMPI_##name
#define FIND(name)
#endif

#define TIMED(name, takes, gives)                                                                  \
    static sum_t sum_##name = {#name, 0, 0};                                                       \
    FIND(name)                                                                                     \
    int MPI_##name takes                                                                           \
    {                                                                                              \
        uint64_t since = now();                                                                    \
        return add(&sum_##name, since, NEXT(name) gives);                                          \
    }

#define IN const void *in, int in_count, MPI_Datatype in_type
#define INS const void *in, const int *in_counts, const int *in_starts, MPI_Datatype in_type
#define OUT void *out, int out_count, MPI_Datatype out_type
#define OUTS void *out, const int *out_counts, const int *out_starts, MPI_Datatype out_type
#define GIVES_IN in, in_count, in_type
#define GIVES_INS in, in_counts, in_starts, in_type
#define GIVES_OUT out, out_count, out_type
#define GIVES_OUTS out, out_counts, out_starts, out_type
#define FOLD const void *in, void *out, int count, MPI_Datatype type, MPI_Op op
#define GIVES_FOLD in, out, count, type, op

TIMED(Barrier, (MPI_Comm comm), (comm))
TIMED(Bcast, (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm),
      (data, count, type, root, comm))
TIMED(Gather, (IN, OUT, int root, MPI_Comm comm), (GIVES_IN, GIVES_OUT, root, comm))
TIMED(Gatherv, (IN, OUTS, int root, MPI_Comm comm), (GIVES_IN, GIVES_OUTS, root, comm))
TIMED(Scatter, (IN, OUT, int root, MPI_Comm comm), (GIVES_IN, GIVES_OUT, root, comm))
TIMED(Scatterv, (INS, OUT, int root, MPI_Comm comm), (GIVES_INS, GIVES_OUT, root, comm))
TIMED(Allgather, (IN, OUT, MPI_Comm comm), (GIVES_IN, GIVES_OUT, comm))
TIMED(Allgatherv, (IN, OUTS, MPI_Comm comm), (GIVES_IN, GIVES_OUTS, comm))
TIMED(Alltoall, (IN, OUT, MPI_Comm comm), (GIVES_IN, GIVES_OUT, comm))
TIMED(Alltoallv, (INS, OUTS, MPI_Comm comm), (GIVES_INS, GIVES_OUTS, comm))
TIMED(Reduce, (FOLD, int root, MPI_Comm comm), (GIVES_FOLD, root, comm))
TIMED(Allreduce, (FOLD, MPI_Comm comm), (GIVES_FOLD, comm))
TIMED(Scan, (FOLD, MPI_Comm comm), (GIVES_FOLD, comm))
TIMED(Exscan, (FOLD, MPI_Comm comm), (GIVES_FOLD, comm))
TIMED(Reduce_scatter_block, (FOLD, MPI_Comm comm), (GIVES_FOLD, comm))
TIMED(Reduce_scatter,
      (const void *in, void *out, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
      (in, out, counts, type, op, comm))

static sum_t *const sums[] = {
    &sum_Barrier,  &sum_Bcast,     &sum_Gather,         &sum_Gatherv,
    &sum_Scatter,  &sum_Scatterv,  &sum_Allgather,      &sum_Allgatherv,
    &sum_Alltoall, &sum_Alltoallv, &sum_Reduce,         &sum_Allreduce,
    &sum_Scan,     &sum_Exscan,    &sum_Reduce_scatter, &sum_Reduce_scatter_block,
};

/* As many intervals with nothing in them as make a mean: what the readings themselves take. */
static sum_t measure_empty(void)
{
    sum_t empty = {"empty", 0, 0};

    for (int i = 0; i < 10000; i++) {
        uint64_t since = now();
        add(&empty, since, 0);
    }
    return empty;
}

FIND(Finalize)

int MPI_Finalize(void)
{
    const char *folder = getenv("TIMER_FOLDER");
    char name[512];
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "%s/" FILE_NAME "-%d.txt", folder == NULL ? "." : folder, rank);
    FILE *file = fopen(name, "w");
    if (file != NULL) {
        sum_t empty = measure_empty();
        fprintf(file, "%s %llu %llu\n", empty.name, (unsigned long long)empty.calls,
                (unsigned long long)empty.ns);
        for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
            fprintf(file, "%s %llu %llu\n", sums[i]->name, (unsigned long long)sums[i]->calls,
                    (unsigned long long)sums[i]->ns);
        fclose(file);
    }
    return NEXT(Finalize)();
}
