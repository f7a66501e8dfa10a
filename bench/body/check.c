/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "kinds.h"

enum { CHECKED_CALLS = 50 };

bool bench_is_checked(const struct bench_point *point)
{
    return point->options->check && point->kind->check != NULL;
}

static long check_sides(struct bench_point *point, bool program)
{
    const struct bench_job *job = point->job;
    double start = bench_now();
    long wrong = 0;
    for (int call = 0; call < CHECKED_CALLS; call++) {
        wrong += point->kind->check(point, &job->host);
        if (program)
            wrong += point->kind->check(point, &job->program);
        bool late = bench_now() - start > point->options->seconds && call >= 5;
        if (bench_agree(job, late))
            break;
    }
    return (long)bench_maximum(job, (double)wrong);
}

long bench_check(struct bench_point *point)
{
    return check_sides(point, !point->options->host_only);
}

long bench_check_host(struct bench_point *point)
{
    return check_sides(point, false);
}
