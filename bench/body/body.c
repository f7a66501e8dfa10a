/* SPDX-License-Identifier: BSD-3-Clause */
/* The bench's body: which points there are, and what is done for each. */

#include "check.h"
#include "measure.h"
#include "options.h"
#include "report.h"

#include <stdio.h>
#include <string.h>

enum { BARRIER_BATCH = 100, CHAIN_ROUNDS = 5, PASSTHROUGH_BATCH = 1000 };

#define EXPORT __attribute__((visibility("default")))

EXPORT int sobor_bench_main(int argc, char **argv);

struct outcome {
    int failed;
    int wrong;
};

/* One by one, and then in unbroken rows. */
static int measure_barrier(struct bench_point *point, struct bench_times *times,
                           struct bench_times *single)
{
    point->repeat_most = 1;
    if (bench_measure(point, single) != 0)
        return -1;
    point->repeat_most = BARRIER_BATCH;
    return bench_measure(point, times);
}

static enum bench_checked verdict(struct bench_point *point, long (*check)(struct bench_point *),
                                  struct outcome *outcome)
{
    if (!point->options->check)
        return BENCH_UNCHECKED;
    long wrong = check(point);
    outcome->wrong |= wrong != 0;
    if (wrong != 0 && point->job->rank == 0)
        fprintf(stderr, "sobor-bench: %s of %zu bytes: %ld wrong calls\n", point->collective,
                point->bytes, wrong);
    return wrong == 0 ? BENCH_RIGHT : BENCH_WRONG;
}

static void run_barrier(struct bench_point *point, struct outcome *outcome)
{
    struct bench_times times;
    struct bench_times single;
    struct bench_line line;
    bench_line_create(&line, point->job);
    point->sampler = bench_sample_barrier;
    point->unbroken = true;
    point->line = &line;
    int failed = measure_barrier(point, &times, &single);
    outcome->failed |= failed;
    enum bench_checked checked = verdict(point, bench_check_barrier, outcome);
    if (point->job->rank == 0 && !failed)
        bench_report(point, &times, &single, checked);
    bench_line_destroy(&line);
}

static void run_passthrough(struct bench_point *point, struct outcome *outcome)
{
    struct bench_times times;
    point->sampler = bench_sample_passthrough;
    point->repeat = PASSTHROUGH_BATCH;
    point->bytes = 1;
    int failed = bench_measure(point, &times);
    outcome->failed |= failed;
    if (point->job->rank == 0 && !failed)
        bench_report(point, &times, NULL, BENCH_UNCHECKED);
}

/* What the collectives with a message have that is their own. */
struct kind {
    int (*create)(struct bench_point *point, size_t *bytes); /* bytes that a slot needs */
    void (*destroy)(struct bench_point *point);
    bench_sampler *sample;
    bench_sampler *sample_chain;
    long (*check)(struct bench_point *point);
};

static int create_bcast(struct bench_point *point, size_t *bytes)
{
    *bytes = point->bytes;
    return 0;
}

static void destroy_bcast(struct bench_point *point)
{
    (void)point;
}

static int create_parts(struct bench_point *point, size_t *bytes)
{
    int failed = bench_parts_create(&point->parts, point);
    *bytes = 2 * point->parts.area;
    return failed;
}

static void destroy_parts(struct bench_point *point)
{
    bench_parts_destroy(&point->parts);
}

static int create_reduction(struct bench_point *point, size_t *bytes)
{
    int failed = bench_reduction_create(&point->reduction, point);
    *bytes = 2 * point->reduction.area;
    return failed;
}

static void destroy_reduction(struct bench_point *point)
{
    bench_reduction_destroy(&point->reduction);
}

static const struct kind *kind_of(const char *collective)
{
    static const struct kind bcast = {create_bcast, destroy_bcast, bench_sample_bcast,
                                      bench_sample_chain, bench_check_bcast};
    static const struct kind parts = {create_parts, destroy_parts, bench_sample_parts,
                                      bench_sample_parts_chain, bench_check_parts};
    static const struct kind reduction = {create_reduction, destroy_reduction,
                                          bench_sample_reduction, bench_sample_reduction_chain,
                                          bench_check_reduction};
    if (bench_reductions_which(collective) >= 0)
        return &reduction;
    return bench_parts_which(collective) >= 0 ? &parts : &bcast;
}

static int create_buffers(struct bench_point *point, const struct kind *kind)
{
    bool cold = strcmp(point->variant, "cold") == 0;
    size_t bytes = 0;
    if (bench_maximum(point->job, kind->create(point, &bytes)) == 0.0 &&
        bench_buffers_create(&point->buffers, point->job, bytes, cold, point->options) == 0)
        return 0;
    kind->destroy(point);
    return -1;
}

static void run_message(struct bench_point *point, struct outcome *outcome)
{
    struct bench_times times;
    const struct kind *kind = kind_of(point->collective);
    bool chain = strcmp(point->variant, "chain") == 0;
    if (create_buffers(point, kind) != 0) {
        if (point->job->rank == 0)
            fprintf(stderr, "sobor-bench: %s of %zu bytes (%s): not enough free memory\n",
                    point->collective, point->bytes, point->variant);
        outcome->failed = 1;
        return;
    }
    point->sampler = chain ? kind->sample_chain : kind->sample;
    point->repeat = chain ? CHAIN_ROUNDS * point->job->ranks : 1;
    int failed = bench_measure(point, &times);
    outcome->failed |= failed;
    enum bench_checked checked = verdict(point, kind->check, outcome);
    if (point->job->rank == 0 && !failed)
        bench_report(point, &times, NULL, checked);
    bench_buffers_destroy(&point->buffers);
    kind->destroy(point);
}

static void run_message_points(struct bench_point point, struct outcome *outcome)
{
    const struct bench_options *options = point.options;
    for (size_t s = 0; s < options->size_count; s++)
        for (size_t v = 0; v < options->variant_count; v++) {
            point.bytes = options->sizes[s];
            point.variant = options->variants[v];
            run_message(&point, outcome);
        }
}

static void run_points(const struct bench_job *job, const struct bench_options *options,
                       struct outcome *outcome)
{
    for (size_t c = 0; c < options->collective_count; c++) {
        struct bench_point point = {.job = job,
                                    .options = options,
                                    .collective = options->collectives[c],
                                    .variant = "hot",
                                    .repeat = 1};
        if (strcmp(point.collective, "barrier") == 0)
            run_barrier(&point, outcome);
        else if (strcmp(point.collective, "passthrough") == 0)
            run_passthrough(&point, outcome);
        else
            run_message_points(point, outcome);
    }
}

static int refuse(const struct bench_job *job, const char *text)
{
    if (job->rank == 0)
        fprintf(stderr, "sobor-bench: %s\n", text);
    return 2;
}

static int run(const struct bench_job *job, int argc, char **argv)
{
    struct bench_options options;
    char error[256];
    if (bench_options_parse(&options, argc, argv, error, sizeof error) != 0)
        return refuse(job, error);
    if (options.help) {
        if (job->rank == 0)
            fputs(bench_options_usage(), stdout);
        return 0;
    }
    if (options.root >= job->ranks)
        return refuse(job, "--root: expected a rank of the job, found a larger number");
    if (!options.host_only && !job->preloaded)
        return refuse(job, "Sobor is not preloaded; preload it, or give --host-only");
    struct outcome outcome = {0};
    run_points(job, &options, &outcome);
    return outcome.failed || outcome.wrong;
}

int sobor_bench_main(int argc, char **argv)
{
    struct bench_job job;
    if (bench_job_start(&job, &argc, &argv) != 0)
        return 2;
    int status = run(&job, argc, argv);
    bench_job_end();
    return status;
}
