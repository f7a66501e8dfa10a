/* SPDX-License-Identifier: BSD-3-Clause */
#include "block.h"

#include "method.h"

#include <stdlib.h>

enum { TIME, START, END, LATE };

int bench_block_create(struct bench_block *block)
{
    enum { ROWS = 2 * BENCH_BLOCK_ROWS + 1 };
    double *pool = calloc((size_t)ROWS * BENCH_BLOCK_MOST, sizeof *pool);
    *block = (struct bench_block){.first = pool};
    if (pool == NULL)
        return -1;
    for (int row = 0; row < BENCH_BLOCK_ROWS; row++) {
        block->own[row] = pool + (size_t)(2 * row + 1) * BENCH_BLOCK_MOST;
        block->all[row] = pool + (size_t)(2 * row + 2) * BENCH_BLOCK_MOST;
    }
    return 0;
}

void bench_block_destroy(struct bench_block *block)
{
    free(block->first);
}

void bench_block_put(struct bench_block *block, int i, struct bench_stint stint, int calls)
{
    block->own[TIME][i] = (stint.end - stint.start) / calls;
    block->own[START][i] = stint.start;
    block->own[END][i] = stint.end;
    block->own[LATE][i] = stint.late;
}

double bench_block_own(const struct bench_block *block, int i)
{
    return block->own[TIME][i];
}

static double mean_of(const double *values, int count)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    return sum / count;
}

static void combine_means(struct bench_block *block, const struct bench_job *job, int count)
{
    double own = mean_of(block->own[TIME], count), sum = 0.0;
    job->reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    job->reduce(&own, &block->most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    block->mean = sum / job->ranks;
}

/* Moves the times that count to the front; only rank 0 knows which were late. */
static void leave_out_late(struct bench_block *block, int count)
{
    block->count = 0;
    for (int i = 0; i < count; i++)
        if (block->all[LATE][i] == 0.0)
            block->all[TIME][block->count++] = block->all[TIME][i];
    block->late_count = count - block->count;
}

void bench_block_combine(struct bench_block *block, const struct bench_point *point, int count)
{
    const struct bench_job *job = point->job;
    for (int row = 0; row < BENCH_BLOCK_ROWS; row++)
        job->reduce(block->own[row], block->all[row], count, MPI_DOUBLE, MPI_MAX, 0,
                    MPI_COMM_WORLD);
    job->reduce(block->own[START], block->first, count, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    combine_means(block, job, count);
    leave_out_late(block, count);
}

static int record_means(struct bench_block *block, struct bench_record *record, double *median)
{
    *median = block->mean;
    int failed = bench_samples_add(&record->figures, &block->mean, 1);
    return failed | bench_samples_add(&record->most, &block->most, 1);
}

static int record_slowest(struct bench_block *block, struct bench_record *record, double *median)
{
    size_t count = (size_t)block->count;
    int failed = bench_samples_add(&record->figures, block->all[TIME], count);
    *median = bench_median(block->all[TIME], count);
    return failed;
}

/* How far apart the ranks began after the barrier, and how long the call took from the first that
 * began to the last that ended; as the times are kept, each or their mean. */
static int record_skew(struct bench_block *block, bool mean, struct bench_record *record)
{
    double *skews = block->all[START], *spans = block->all[END];
    for (int i = 0; i < block->count; i++) {
        skews[i] -= block->first[i];
        spans[i] -= block->first[i];
    }
    double means[2] = {mean_of(skews, block->count), mean_of(spans, block->count)};
    size_t count = mean ? 1 : (size_t)block->count;
    int failed = bench_samples_add(&record->skews, mean ? &means[0] : skews, count);
    return failed | bench_samples_add(&record->spans, mean ? &means[1] : spans, count);
}

int bench_block_record(struct bench_block *block, const struct bench_point *point,
                       struct bench_record *record, double *median)
{
    const struct bench_method *method = point->method;
    record->late += block->late_count;
    int failed = method->synchronised ? record_skew(block, method->rank_means, record) : 0;
    if (method->rank_means)
        return failed | record_means(block, record, median);
    return failed | record_slowest(block, record, median);
}

void bench_record_destroy(struct bench_record *record)
{
    bench_samples_destroy(&record->figures);
    bench_samples_destroy(&record->most);
    bench_samples_destroy(&record->skews);
    bench_samples_destroy(&record->spans);
}
