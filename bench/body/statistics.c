/* SPDX-License-Identifier: BSD-3-Clause */
#include "statistics.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Linear between the two nearest ranks, as numpy does by default. */
static double quantile(const double *sorted, size_t count, double share)
{
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    size_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

int bench_samples_add(struct bench_samples *samples, const double *values, size_t count)
{
    if (count == 0)
        return 0;
    if (samples->count + count > samples->capacity) {
        size_t capacity = 2 * (samples->count + count);
        double *grown = realloc(samples->values, capacity * sizeof *grown);
        if (grown == NULL)
            return -1;
        samples->values = grown;
        samples->capacity = capacity;
    }
    memcpy(samples->values + samples->count, values, count * sizeof *values);
    samples->count += count;
    return 0;
}

void bench_samples_destroy(struct bench_samples *samples)
{
    free(samples->values);
    *samples = (struct bench_samples){0};
}

struct bench_summary bench_samples_summary(struct bench_samples *samples)
{
    if (samples->count == 0)
        return (struct bench_summary){0};
    qsort(samples->values, samples->count, sizeof *samples->values, compare);
    return (struct bench_summary){.median = quantile(samples->values, samples->count, 0.5),
                                  .p10 = quantile(samples->values, samples->count, 0.1),
                                  .p90 = quantile(samples->values, samples->count, 0.9)};
}

double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return count == 0 ? 0.0 : quantile(values, count, 0.5);
}
