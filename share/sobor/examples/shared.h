/* SPDX-License-Identifier: BSD-3-Clause */
/* What the example programs share: memory, random numbers, and how times are told. */
#ifndef SB_EXAMPLES_SHARED_H
#define SB_EXAMPLES_SHARED_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Seconds that this rank has spent in its operations. */
typedef struct {
    double total, moving;
} times_t;

/* Memory for `count` things of `size` bytes, zeroed; ends the job where there is none. */
static void *memory(size_t count, size_t size)
{
    void *bytes = calloc(count > 0 ? count : 1, size);

    if (bytes == NULL) {
        fprintf(stderr, "no memory for %zu x %zu bytes\n", count, size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return bytes;
}

/* A number that looks drawn at random, the same for the same argument. */
static uint32_t drawn(uint64_t of)
{
    of = (of + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    of = (of ^ (of >> 29)) * 0x94d049bb133111ebu;
    return (uint32_t)(of >> 32);
}

/* The positive number that argument `place` gives, or `otherwise`; ends the job if it is none. */
static int argument(int count, char **words, int place, int otherwise)
{
    char *end = "";
    long value = place < count ? strtol(words[place], &end, 10) : otherwise;

    if (*end != '\0' || value < 1 || value > 1 << 20) {
        fprintf(stderr, "%s: argument %d: expected a number of 1 to %d, found \"%s\"\n", words[0],
                place, 1 << 20, words[place]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return (int)value;
}

/* The mean over all ranks, told by rank 0. */
static void tell(const char *name, const char *calls, times_t mine)
{
    double values[2] = {mine.total, mine.moving}, sums[2];
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Reduce(values, sums, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s: %s, total %.6f s, computing %.6f s, collectives %.6f s\n", name, calls,
               sums[0] / size, (sums[0] - sums[1]) / size, sums[1] / size);
}

#endif
