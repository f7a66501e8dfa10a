/* SPDX-License-Identifier: BSD-3-Clause */
/* The bench's body: which points there are, and what is done for each. */

#include "check.h"
#include "first.h"
#include "kinds.h"
#include "limits.h"
#include "measure.h"
#include "method.h"
#include "options.h"
#include "platform.h"
#include "report.h"

#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int sobor_bench_main(int argc, char **argv);

struct outcome {
    int failed;
    int wrong;
};

static void tell_wrong(const struct bench_point *point, const char *whose, long wrong)
{
    if (wrong != 0 && point->job->rank == 0)
        fprintf(stderr, "sobor-bench: %s of %zu bytes: %ld wrong calls%s\n", point->collective,
                point->bytes, wrong, whose);
}

/* `limit`: wrong calls of what the point was timed beside. */
static enum bench_checked verdict(struct bench_point *point, long limit, struct outcome *outcome)
{
    if (!bench_is_checked(point))
        return BENCH_UNCHECKED;
    long wrong = bench_check(point);
    tell_wrong(point, "", wrong);
    tell_wrong(point, " of the limit's loops", limit);
    outcome->wrong |= wrong + limit != 0;
    return wrong + limit == 0 ? BENCH_RIGHT : BENCH_WRONG;
}

/* Barriers in rows are timed one by one too. */
static bool has_single(const struct bench_point *point)
{
    return point->method == bench_method_of("sobor", point) && point->method->unbroken;
}

static void run_method(struct bench_point *point, struct outcome *outcome)
{
    struct bench_times times, single;
    struct bench_limit_times limit = {0};
    bool limited = bench_limits_has(point->limits, point->collective);
    int failed = 0;
    point->repeat = point->method->repeat * (point->method->each_root ? point->job->ranks : 1);
    point->repeat_most = 0;
    if (has_single(point))
        failed |= bench_measure(point, &single);
    point->repeat_most = point->method->repeat_most;
    failed |= bench_measure(point, &times);
    if (limited)
        failed |= bench_limits_measure(point, &limit);
    outcome->failed |= failed;
    enum bench_checked checked = verdict(point, limit.wrong, outcome);
    if (point->job->rank == 0 && !failed)
        bench_report(point, &times, has_single(point) ? &single : NULL, limited ? &limit : NULL,
                     checked);
}

/* Without --sync the calls of single come after both barriers, in turn. */
static void run_syncs(struct bench_point *point, struct outcome *outcome)
{
    enum bench_sync sync = point->options->sync;
    bool both = sync == BENCH_SYNC_BY_METHOD && point->method->rank_means;
    for (int common = both ? 0 : 1; common < 2; common++) {
        point->common_sync = both ? common : sync != BENCH_SYNC_OWN;
        run_method(point, outcome);
    }
}

static void run_methods(struct bench_point *point, struct outcome *outcome)
{
    const struct bench_options *options = point->options;
    for (size_t i = 0; i < options->method_count; i++) {
        point->method = bench_method_of(options->methods[i], point);
        if (point->method != NULL)
            run_syncs(point, outcome);
    }
}

static int create_buffers(struct bench_point *point)
{
    bool cold = strcmp(point->variant, "cold") == 0;
    size_t bytes = 0;
    if (bench_maximum(point->job, point->kind->create(point, &bytes)) == 0.0 &&
        bench_buffers_create(&point->buffers, point->job, bytes, cold, point->options) == 0)
        return 0;
    point->kind->destroy(point);
    return -1;
}

static void run_point(struct bench_point *point, struct outcome *outcome)
{
    if (create_buffers(point) != 0) {
        if (point->job->rank == 0)
            fprintf(stderr, "sobor-bench: %s of %zu bytes (%s): not enough free memory\n",
                    point->collective, point->bytes, point->variant);
        outcome->failed = 1;
        return;
    }
    if (strcmp(point->collective, "passthrough") == 0) {
        point->method = &bench_method_passthrough;
        run_method(point, outcome);
    } else {
        run_methods(point, outcome);
    }
    bench_buffers_destroy(&point->buffers);
    point->kind->destroy(point);
}

static void run_collective(struct bench_point point, struct outcome *outcome)
{
    const struct bench_options *options = point.options;
    size_t sizes = point.kind->sizeless ? 1 : options->size_count;
    size_t variants = point.kind->sizeless ? 1 : options->variant_count;
    for (size_t s = 0; s < sizes; s++)
        for (size_t v = 0; v < variants; v++) {
            point.bytes = point.kind->sizeless ? point.kind->bytes : options->sizes[s];
            point.variant = point.kind->sizeless ? "hot" : options->variants[v];
            run_point(&point, outcome);
        }
}

static void run_points(const struct bench_job *job, const struct bench_options *options,
                       struct outcome *outcome)
{
    struct bench_line line;
    struct bench_limits limits = {0};
    bench_line_create(&line, job);
    if (options->limits)
        bench_limits_create(&limits, job);
    for (size_t c = 0; c < options->collective_count; c++) {
        const char *name = options->collectives[c];
        struct bench_point point = {.job = job,
                                    .options = options,
                                    .collective = name,
                                    .kind = bench_kind_of(name),
                                    .line = &line,
                                    .limits = &limits};
        run_collective(point, outcome);
    }
    bench_limits_destroy(&limits);
    bench_line_destroy(&line);
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
    if (options.platform)
        return bench_platform_run(job, &options);
    if (options.limits && (job->ranks != 2 || !job->fits || options.host_only))
        return refuse(job, "--limits: expected two ranks of one node with a processor each, and "
                           "Sobor, found another job");
    if (!options.host_only && !job->preloaded)
        return refuse(job, "Sobor is not preloaded; preload it, or give --host-only");
    if (options.first)
        return bench_first_run(job, &options);
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
    bench_job_end(&job);
    return status;
}
