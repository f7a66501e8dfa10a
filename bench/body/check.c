/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <unistd.h>

enum { CHECKED_CALLS = 50, LATE_MICROSECONDS = 300 };

static long check_bcast_call(struct bench_point *point, const struct bench_calls *calls)
{
    const struct bench_job *job = point->job;
    int root = bench_root(point);
    size_t call = point->call++;
    uint64_t seed = point->options->seed + call;
    bench_buffers_fill(&point->buffers, call, job->rank == root ? seed : ~seed);
    calls->bcast(bench_buffers_slot(&point->buffers, call), (int)point->bytes, MPI_BYTE, root,
                 MPI_COMM_WORLD);
    return bench_buffers_verify(&point->buffers, call, seed) != 0;
}

/* Nobody may leave before the last has come. One rank in turn comes late, to make a barrier that
 * does not wait show itself. Clocks agree within a node only. */
static long check_barrier_call(struct bench_point *point, const struct bench_calls *calls)
{
    const struct bench_job *job = point->job;
    size_t call = point->call++;
    if ((int)(call % (size_t)job->ranks) == job->rank)
        usleep(LATE_MICROSECONDS);
    double come = bench_now();
    calls->barrier(MPI_COMM_WORLD);
    double left = bench_now();
    return job->one_node && left < bench_maximum(job, come);
}

typedef long checker(struct bench_point *point, const struct bench_calls *calls);

static long check_sides(struct bench_point *point, checker *check)
{
    const struct bench_job *job = point->job;
    double start = bench_now();
    long wrong = 0;
    for (int call = 0; call < CHECKED_CALLS; call++) {
        wrong += check(point, &job->host);
        if (!point->options->host_only)
            wrong += check(point, &job->program);
        bool late = bench_now() - start > point->options->seconds && call >= 5;
        if (bench_agree(job, late))
            break;
    }
    return (long)bench_maximum(job, (double)wrong);
}

long bench_check_bcast(struct bench_point *point)
{
    return check_sides(point, check_bcast_call);
}

long bench_check_parts(struct bench_point *point)
{
    return check_sides(point, bench_parts_check);
}

long bench_check_reduction(struct bench_point *point)
{
    return check_sides(point, bench_reduction_check);
}

long bench_check_barrier(struct bench_point *point)
{
    return check_sides(point, check_barrier_call);
}
