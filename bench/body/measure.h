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

struct bench_kind;
struct bench_limits;
struct bench_method;
struct bench_point;

/* One sample of one rank, by the clock that all ranks share. */
struct bench_stint {
    double start;
    double end;
    struct bench_switches switches; /* in between, of rows */
    bool late;                      /* it began later than it should have: it does not count */
};

typedef struct bench_stint bench_sampler(struct bench_point *point,
                                         const struct bench_calls *calls);

/* When the next call begins, and how long after it the one that follows. */
struct bench_window {
    double next;
    double width;
};

struct bench_point {
    const struct bench_job *job;
    const struct bench_options *options;
    const char *collective;
    const char *variant;
    size_t bytes;
    const struct bench_kind *kind;
    const struct bench_method *method;
    bool common_sync; /* both sides start from the program's barrier */
    double ahead;     /* by which rank 0's clock is ahead of this rank's */
    struct bench_window window;
    struct bench_buffers buffers;
    struct bench_parts parts;         /* of collectives that have some */
    struct bench_reduction reduction; /* of those that combine */
    size_t call;                      /* number of the next call: it picks the slot and the data */
    int repeat;                       /* calls in one sample, */
    int repeat_most;                  /* or not 0: up to so many, each side for itself */
    struct bench_line *line;          /* timed in the same run */
    struct bench_limits *limits;      /* that the point is measured against too */
};

/* The root of the next call, the same on all ranks. */
static inline int bench_root(const struct bench_point *point)
{
    int root = point->options->root;
    return root == BENCH_ROOT_ROTATES ? (int)(point->call % (size_t)point->job->ranks) : root;
}

static inline double bench_point_now(const struct bench_point *point)
{
    return bench_now() + point->ahead;
}

/* What is known of one side. */
struct bench_side_times {
    struct bench_summary figure; /* seconds of a call; all 0 where no call counted */
    struct bench_summary most;   /* of methods that take means: of the rank whose mean is largest */
    struct bench_summary skew; /* where calls follow a barrier: between first and last to begin, */
    struct bench_summary span; /* and from the first to begin to the last to end */
    struct bench_switching switching; /* of unbroken rows */
    long late;                        /* calls that did not count, of methods with agreed times */
};

struct bench_times {
    struct bench_side_times host;
    struct bench_side_times program;
    struct bench_summary ratio;
    struct bench_summary line; /* seconds of a cache line's round trip, in the same run */
    long calls; /* timed calls of the program's side; of the host's when that is alone */
    char algorithm[48];
    struct bench_sharing sharing;
};

/* Collective. The results are valid on rank 0. Returns 0, or -1 when memory is short. */
int bench_measure(struct bench_point *point, struct bench_times *times);

#endif
