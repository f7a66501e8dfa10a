/* SPDX-License-Identifier: BSD-3-Clause */
/* Points timed against the loops of bench/limits, which take the host's place in the same job. */
#ifndef SOBOR_BENCH_LIMITS_H
#define SOBOR_BENCH_LIMITS_H

#include "../limits/limit.h"
#include "measure.h"

struct bench_limits {
    struct limit_segment *segment; /* NULL: nothing is measured */
};

/* What a point is beside the forms of its limit, each in turns with Sobor's by blocks. Zero: that
 * form cannot be. */
struct bench_limit_times {
    struct bench_summary limit[LIMIT_FORMS];
    struct bench_summary program[LIMIT_FORMS];
    long wrong; /* calls of the forms, where they are checked; the same on every rank */
};

/* Collective, of two ranks. Nothing is measured where they may not share memory. */
void bench_limits_create(struct bench_limits *limits, const struct bench_job *job);
void bench_limits_destroy(struct bench_limits *limits);

/* Whether there is a limit of this collective. */
bool bench_limits_has(const struct bench_limits *limits, const char *collective);

/* Collective; as bench_measure. */
int bench_limits_measure(struct bench_point *point, struct bench_limit_times *times);

#endif
