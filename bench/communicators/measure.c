/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What communicators cost this process: one line of numbers, for compare.py.
 *
 * usage: measure BROADCASTS   (on each of 1,000 live communicators, beside the first one)
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 2001, LIVE = 1000 };

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static long resident_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = atol(line + 6);
    }
    if (file != NULL)
        fclose(file);
    return kib;
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;

    return (a > b) - (a < b);
}

static void broadcast(MPI_Comm comm)
{
    long value = 1;

    MPI_Bcast(&value, sizeof value, MPI_BYTE, 0, comm);
}

/* Microseconds of MPI_Comm_dup, MPI_Barrier and MPI_Comm_free, in the middle of many. */
static double short_life(void)
{
    static double times[ROUNDS];
    MPI_Comm made;

    for (int i = 0; i < ROUNDS; i++) {
        double began = now_us();
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        MPI_Barrier(made);
        MPI_Comm_free(&made);
        times[i] = now_us() - began;
    }
    qsort(times, ROUNDS, sizeof times[0], compare);
    return times[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    static MPI_Comm live[LIVE];
    int broadcasts = argc > 1 ? atoi(argv[1]) : 0, rank;
    double began = now_us();

    MPI_Init(&argc, &argv);
    double init = now_us() - began;
    began = now_us();
    broadcast(MPI_COMM_WORLD);
    double first = now_us() - began;
    long start = resident_kib();
    double life = short_life();
    long before = resident_kib();
    for (int i = 0; i < LIVE; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &live[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    began = now_us();
    for (int i = 0; i < LIVE; i++)
        broadcast(live[i]);
    double once = now_us() - began;
    long idle = resident_kib() - before;
    began = now_us();
    for (int i = 0; i < LIVE; i++) {
        for (int round = 0; round < broadcasts; round++)
            broadcast(live[i]);
    }
    double many = now_us() - began;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%.1f %.1f %ld %.3f %.1f %ld %.1f %ld\n", init, first, start, life, once, idle, many,
               resident_kib() - before);
    MPI_Finalize();
    return 0;
}
