/* SPDX-License-Identifier: BSD-3-Clause */
/* What the platform of a job does: rows of samples, one JSON object a line, from rank 0. */
#ifndef SOBOR_BENCH_PLATFORM_H
#define SOBOR_BENCH_PLATFORM_H

#include "job.h"
#include "options.h"
#include "statistics.h"

/* What is measured for. Two ends of a network are the first ranks of two nodes, where there are. */
struct bench_platform {
    const struct bench_job *job;
    MPI_Comm ends;  /* first ranks of nodes, or all ranks of the only node; else MPI_COMM_NULL */
    int end, count; /* this rank's among them, and how many there are */
    double seconds; /* for each row */
    int longest;    /* block of calls of all ends, in bytes */
};

/* Measures everything, or, if that is wanted, of one node nothing. Returns 0. */
int bench_platform_run(const struct bench_job *job, const struct bench_options *options);

/* Parts of it. Collective over all ranks. */
void bench_platform_compute(const struct bench_platform *platform);
void bench_platform_network(const struct bench_platform *platform);
void bench_platform_calls(const struct bench_platform *platform);
void bench_platform_sharing(const struct bench_platform *platform);
void bench_platform_synchronisation(const struct bench_platform *platform);

/* Rank 0 writes a row, and frees the samples. `at`: what was varied. */
void bench_platform_row(const struct bench_platform *platform, const char *measure, const char *how,
                        double at, struct bench_samples *samples);

#endif
