/* SPDX-License-Identifier: BSD-3-Clause */
#include "switches.h"

#include <sys/resource.h>

struct bench_switches bench_switches_now(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_THREAD, &usage);
    return (struct bench_switches){.all = (double)usage.ru_nvcsw + (double)usage.ru_nivcsw,
                                   .voluntary = (double)usage.ru_nvcsw};
}

struct bench_switches bench_switches_since(struct bench_switches before)
{
    struct bench_switches now = bench_switches_now();
    return (struct bench_switches){.all = now.all - before.all,
                                   .voluntary = now.voluntary - before.voluntary};
}

void bench_switches_add(struct bench_switches *sum, struct bench_switches more)
{
    sum->all += more.all;
    sum->voluntary += more.voluntary;
}

int bench_switches_record(struct bench_switch_samples *samples, const struct bench_job *job,
                          struct bench_switches block, double calls)
{
    double mine[2] = {block.all, block.voluntary};
    double total[2] = {0.0, 0.0};
    job->reduce(mine, total, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    double all = total[0] / (job->ranks * calls);
    double voluntary = total[1] / (job->ranks * calls);
    int failed = bench_samples_add(&samples->all, &all, 1);
    return failed | bench_samples_add(&samples->voluntary, &voluntary, 1);
}

struct bench_switching bench_switches_summary(struct bench_switch_samples *samples)
{
    return (struct bench_switching){.all = bench_samples_summary(&samples->all),
                                    .voluntary = bench_samples_summary(&samples->voluntary)};
}

void bench_switches_destroy(struct bench_switch_samples *samples)
{
    bench_samples_destroy(&samples->all);
    bench_samples_destroy(&samples->voluntary);
}
