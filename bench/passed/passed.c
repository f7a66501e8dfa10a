/* SPDX-License-Identifier: BSD-3-Clause */
/* What calls cost that are the host MPI's: nanoseconds, for bench/passed/run.py.
 *
 * Calls of no data in an unbroken loop, which hosts return from at once, so that what comes before
 * them shows; and a small allreduce timed by itself between barriers.
 *
 * usage: passed CALLS     of the allreduce */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 101, LOOP = 2000, WIDE = 9 };

static MPI_Datatype wide;
static MPI_Op users;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare);
    return values[n / 2];
}

static void nothing(void *in, void *out, int *count, MPI_Datatype *type)
{
    (void)in;
    (void)out;
    (void)count;
    (void)type;
}

static void empty_bcast(double *data)
{
    MPI_Bcast(data, 0, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void alone(double *data)
{
    MPI_Bcast(data, 1, MPI_DOUBLE, 0, MPI_COMM_SELF);
}

/* An operation that is always the host's: its elements are too large. */
static void operator(double *data)
{
    MPI_Allreduce(data, data + WIDE, 0, wide, users, MPI_COMM_WORLD);
}

static double loop(void (*call)(double *))
{
    double data[2 * WIDE] = {0}, times[BATCHES];
    for (int i = 0; i < BATCHES; i++) {
        double began = now();
        for (int k = 0; k < LOOP; k++)
            call(data);
        times[i] = (now() - began) / LOOP;
    }
    return median(times, BATCHES);
}

/* Whoever leaves the barrier last finds the other's data there and takes a third of the time of who
 * leaves it first. Which rank that is changes by itself: so the mean of both counts for a call. */
static double single(int calls)
{
    double *times = malloc(2 * (size_t)calls * sizeof *times), *both = times + calls;
    double in = 1, out;
    int size;
    for (int i = 0; i < calls; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double began = now();
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        times[i] = now() - began;
    }
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Reduce(times, both, calls, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    double each = median(both, calls) / size;
    free(times);
    return each;
}

int main(int argc, char **argv)
{
    int rank, calls = argc > 1 ? atoi(argv[1]) : 0;
    if (calls < 1) {
        fprintf(stderr, "usage: passed CALLS\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_contiguous(WIDE, MPI_DOUBLE, &wide);
    MPI_Type_commit(&wide);
    MPI_Op_create(nothing, 1, &users);
    double self = loop(alone), bcast = loop(empty_bcast), op = loop(operator),
           between = single(calls);
    if (rank == 0)
        printf("%.2f %.2f %.2f %.2f\n", self, bcast, op, between);
    MPI_Op_free(&users);
    MPI_Type_free(&wide);
    MPI_Finalize();
    return 0;
}
