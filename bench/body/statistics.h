/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing set of samples and its quantiles. */
#ifndef SOBOR_BENCH_STATISTICS_H
#define SOBOR_BENCH_STATISTICS_H

#include <stddef.h>

struct bench_samples {
    double *values;
    size_t count;
    size_t capacity;
};

struct bench_summary {
    double median;
    double p10;
    double p90;
};

/* Returns 0, or -1 when memory is short. */
int bench_samples_add(struct bench_samples *samples, const double *values, size_t count);

void bench_samples_destroy(struct bench_samples *samples);

/* Sorts the samples. All zero when there are none. */
struct bench_summary bench_samples_summary(struct bench_samples *samples);

double bench_median(double *values, size_t count);

#endif
