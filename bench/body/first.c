/* SPDX-License-Identifier: BSD-3-Clause */
/* First calls, of a job that has called no collective before but the host's own: what is set up for
 * one is there for those that come after it. Beside each is what a call takes then. */

#include "first.h"

#include "kinds.h"
#include "measure.h"

#include <stdio.h>

enum { CALLS = 24 };

/* All begin together, as far as the host's barrier lets them. */
static double time_one(struct bench_point *point)
{
    int root = bench_root(point);
    point->kind->renew(point, root);
    point->job->host.barrier(MPI_COMM_WORLD);
    double start = bench_now();
    point->kind->call(point, &point->job->program, root);
    double spent = bench_now() - start;
    point->call++;
    return spent;
}

static double mean_of_ranks(const struct bench_job *job, double value)
{
    return bench_sum(job, value) / job->ranks;
}

static void time_calls(struct bench_point *point)
{
    double later[CALLS];
    double first = mean_of_ranks(point->job, time_one(point));
    for (int i = 0; i < CALLS; i++)
        later[i] = time_one(point);
    double usual = mean_of_ranks(point->job, bench_median(later, CALLS));
    if (point->job->rank == 0)
        printf("{\"collective\": \"%s\", \"bytes\": %zu, \"first_us\": %.5g, \"usual_us\": %.5g}\n",
               point->collective, point->bytes, first * 1e6, usual * 1e6);
    fflush(stdout);
}

static int run_point(struct bench_point *point)
{
    size_t bytes = 0;
    int status = 1;
    if (bench_maximum(point->job, point->kind->create(point, &bytes)) == 0.0 &&
        bench_buffers_create(&point->buffers, point->job, bytes, false, point->options) == 0) {
        time_calls(point);
        bench_buffers_destroy(&point->buffers);
        status = 0;
    }
    point->kind->destroy(point);
    return status;
}

int bench_first_run(const struct bench_job *job, const struct bench_options *options)
{
    int status = 0;
    for (size_t c = 0; c < options->collective_count; c++) {
        size_t last = options->size_count - 1;
        struct bench_point point = {.job = job,
                                    .options = options,
                                    .collective = options->collectives[c],
                                    .variant = "hot",
                                    .kind = bench_kind_of(options->collectives[c]),
                                    .bytes = options->sizes[c < last ? c : last]};
        if (point.kind->sizeless)
            point.bytes = point.kind->bytes;
        status |= run_point(&point);
    }
    return status;
}
