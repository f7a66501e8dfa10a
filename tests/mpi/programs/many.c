/* SPDX-License-Identifier: BSD-3-Clause */
/* Many communicators made, used and freed, then many alive at once; what they cost is printed.
 *
 * usage: many LOOP ALIVE
 * prints: "descriptors start=A loop=B alive=C again=D end=E", "shared_kib ..." and
 * "private_kib ..." likewise, the largest over all ranks. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 20, STAGES = 5 };
enum { DESCRIPTORS, SHARED, PRIVATE, KINDS };

static long figures[KINDS][STAGES];

static long status_kib(const char *name)
{
    char line[256];
    long value = -1;
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file != NULL, "no /proc/self/status");
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtol(line + strlen(name) + 1, NULL, 10);
    fclose(file);
    CHECK(value >= 0, "/proc/self/status has no %s", name);
    return value;
}

static void take_figures(int stage)
{
    long mine[KINDS] = {holdings().descriptors, status_kib("RssShmem"), status_kib("RssAnon")};
    long largest[KINDS];
    CALL(MPI_Allreduce(mine, largest, KINDS, MPI_LONG, MPI_MAX, MPI_COMM_WORLD));
    for (int kind = 0; kind < KINDS; kind++)
        figures[kind][stage] = largest[kind];
}

static void use(MPI_Comm comm, int i)
{
    checked_bcast(comm, 100, i % size_of(comm), (uint64_t)i);
    checked_bcast(comm, 10000, i % size_of(comm), (uint64_t)i);
    CALL(MPI_Barrier(comm));
}

static void loop(int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Comm comm;
        if (i % 2 == 0)
            CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        else
            CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of(MPI_COMM_WORLD), &comm));
        use(comm, i);
        CALL(MPI_Comm_free(&comm));
    }
}

static void alive(int count, int stage)
{
    MPI_Comm *comms = calloc((size_t)count, sizeof *comms);
    for (int i = 0; i < count; i++) {
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
        use(comms[i], i);
    }
    for (int i = 0; i < count; i++)
        use(comms[i], i);
    take_figures(stage);
    for (int i = 0; i < count; i++)
        CALL(MPI_Comm_free(&comms[i]));
    free(comms);
}

static void print_figures(const char *name, int kind)
{
    const long *figure = figures[kind];
    printf("%s start=%ld loop=%ld alive=%ld again=%ld end=%ld\n", name, figure[0], figure[1],
           figure[2], figure[3], figure[4]);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    CHECK(argc == 3, "usage: many LOOP ALIVE");
    loop(WARM_UP);
    take_figures(0);
    loop(atoi(argv[1]));
    take_figures(1);
    alive(atoi(argv[2]), 2);
    alive(atoi(argv[2]), 3);
    loop(WARM_UP);
    take_figures(4);
    if (rank_of(MPI_COMM_WORLD) == 0) {
        print_figures("descriptors", DESCRIPTORS);
        print_figures("shared_kib", SHARED);
        print_figures("private_kib", PRIVATE);
    }
    return test_end();
}
