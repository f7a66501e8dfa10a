/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far apart ranks leave MPI_Barrier, by clocks that are set against rank 0's; and how far apart
 * they leave something better: inside a node a shared flag that one of them sets, between nodes the
 * hour that all have agreed on. There the clocks are compared once more, so that what they are
 * wrong by is seen.
 */
#include "clock.h"
#include "platform.h"
#include "share.h"

#include <sched.h>
#include <stdatomic.h>

enum { SAMPLES = 100, CLOCKS_EVERY = 20, SPINS = 2000 };

/* Seconds from the first to the last of all. */
static double spread(const struct bench_job *job, double time)
{
    return bench_maximum(job, time) + bench_maximum(job, -time);
}

static void measure_barrier(const struct bench_platform *platform)
{
    const struct bench_job *job = platform->job;
    struct bench_samples samples = {0};
    double ahead = 0.0;
    for (int i = 0; i < SAMPLES; i++) {
        if (i % CLOCKS_EVERY == 0)
            ahead = bench_clock_ahead(job);
        job->host.barrier(MPI_COMM_WORLD);
        double apart = spread(job, bench_now() + ahead);
        bench_samples_add(&samples, &apart, 1);
    }
    bench_platform_row(platform, "barrier", "exits", job->ranks, &samples);
}

/* Ranks that share processors give theirs away. */
static void look(const struct bench_job *job, int *spins)
{
    if (!job->fits && ++*spins % SPINS == 0)
        sched_yield();
}

static void measure_flag(const struct bench_platform *platform, _Atomic int *flag)
{
    const struct bench_job *job = platform->job;
    struct bench_samples samples = {0};
    for (int i = 1; i <= SAMPLES; i++) {
        int spins = 0;
        job->host.barrier(MPI_COMM_WORLD);
        if (job->rank == 0)
            atomic_store_explicit(flag, i, memory_order_release);
        /* Pairs with the store of rank 0. */
        while (atomic_load_explicit(flag, memory_order_acquire) < i)
            look(job, &spins);
        double apart = spread(job, bench_now());
        bench_samples_add(&samples, &apart, 1);
    }
    bench_platform_row(platform, "reference", "shared flag", job->ranks, &samples);
}

static void measure_hour(const struct bench_platform *platform)
{
    const struct bench_job *job = platform->job;
    struct bench_samples samples = {0};
    double ahead = 0.0, again = 0.0;
    for (int i = 0; i < SAMPLES; i++) {
        int spins = 0;
        if (i % CLOCKS_EVERY == 0) {
            ahead = bench_clock_ahead(job);
            again = bench_clock_ahead(job);
        }
        double hour = bench_now() + 0.5e-3;
        job->host.bcast(&hour, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        while (bench_now() + ahead < hour)
            look(job, &spins);
        double apart = spread(job, bench_now() + again);
        bench_samples_add(&samples, &apart, 1);
    }
    bench_platform_row(platform, "reference", "synchronised clocks", job->ranks, &samples);
}

void bench_platform_synchronisation(const struct bench_platform *platform)
{
    const struct bench_job *job = platform->job;
    _Atomic int *flag = job->one_node ? bench_share(job, sizeof *flag) : NULL;
    measure_barrier(platform);
    if (flag != NULL)
        measure_flag(platform, flag);
    else
        measure_hour(platform);
    bench_unshare((void *)flag, sizeof *flag);
}
