/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Floating point operations a second: chains of multiply-adds, each waiting for the one before, or
 * many beside each other; of rank 0 alone, and of all ranks at once.
 */
#include "platform.h"

enum { SAMPLES = 9, OPERATIONS = 20000000, CHAINS = 8 };

/* Kept where the compiler cannot know it. */
static volatile double factor = 0.999999999, addend = 1e-9, sink;

static void run_dependent(void)
{
    double value = 1.0, multiplier = factor, more = addend;
    for (int i = 0; i < OPERATIONS / 2; i++)
        value = value * multiplier + more;
    sink = value;
}

static void run_independent(void)
{
    double value[CHAINS] = {1, 2, 3, 4, 5, 6, 7, 8}, multiplier = factor, more = addend, sum = 0;
    for (int i = 0; i < OPERATIONS / 2 / CHAINS; i++)
        for (int k = 0; k < CHAINS; k++)
            value[k] = value[k] * multiplier + more;
    for (int k = 0; k < CHAINS; k++)
        sum += value[k];
    sink = sum;
}

/* Operations a second of those who take part. */
static void measure(const struct bench_platform *platform, void (*run)(void), const char *how,
                    int all)
{
    const struct bench_job *job = platform->job;
    struct bench_samples samples = {0};
    for (int i = 0; i < SAMPLES; i++) {
        double time = 0.0;
        job->host.barrier(MPI_COMM_WORLD);
        if (all || job->rank == 0) {
            double start = bench_now();
            run();
            time = bench_now() - start;
        }
        double rate = (all ? job->ranks : 1) * (double)OPERATIONS / bench_maximum(job, time);
        bench_samples_add(&samples, &rate, 1);
    }
    bench_platform_row(platform, "flops", how, all ? job->ranks : 1, &samples);
}

void bench_platform_compute(const struct bench_platform *platform)
{
    for (int all = 0; all < 2; all++) {
        measure(platform, run_dependent, "dependent", all);
        measure(platform, run_independent, "independent", all);
    }
}
