/* SPDX-License-Identifier: BSD-3-Clause */
/* Times one point: the host's call against the program's, in alternating blocks. */
#ifndef SOBOR_BENCH_MEASURE_H
#define SOBOR_BENCH_MEASURE_H

#include "buffers.h"
#include "job.h"
#include "line.h"
#include "options.h"
#include "parts.h"
#include "reductions.h"
#include "statistics.h"
#include "switches.h"

struct bench_point;

/* Takes one sample on this rank, in seconds per call. */
typedef double bench_sampler(struct bench_point *point, const struct bench_calls *calls);

struct bench_point {
    const struct bench_job *job;
    const struct bench_options *options;
    const char *collective;
    const char *variant;
    size_t bytes;
    bench_sampler *sampler;
    struct bench_buffers buffers;
    struct bench_parts parts;         /* of collectives that have some */
    struct bench_reduction reduction; /* of those that combine */
    size_t call;                      /* number of the next call: it picks the slot and the data */
    int repeat;                       /* calls in one sample, */
    int repeat_most;                  /* or not 0: up to so many, each side for itself */
    bool unbroken;           /* the samples are calls of this collective, one after another */
    struct bench_line *line; /* timed between the blocks; NULL: not */
};

/* The root of the next call, the same on all ranks. */
static inline int bench_root(const struct bench_point *point)
{
    int root = point->options->root;
    return root == BENCH_ROOT_ROTATES ? (int)(point->call % (size_t)point->job->ranks) : root;
}

struct bench_times {
    struct bench_summary host;
    struct bench_summary program;
    struct bench_summary ratio;
    struct bench_summary line; /* seconds of a cache line's round trip, in the same run */
    struct bench_switching host_switching; /* of unbroken points */
    struct bench_switching program_switching;
    long calls; /* timed calls of the program's side; of the host's when that is alone */
    char algorithm[48];
};

/* The synchronisation before a timed call. */
void bench_synchronise(const struct bench_point *point, const struct bench_calls *calls);

bench_sampler bench_sample_barrier;
bench_sampler bench_sample_bcast;
bench_sampler bench_sample_chain;
bench_sampler bench_sample_passthrough;

/* Collective. The results are valid on rank 0. Returns 0, or -1 when memory is short. */
int bench_measure(struct bench_point *point, struct bench_times *times);

#endif
