/* SPDX-License-Identifier: BSD-3-Clause */
#include "platform.h"

#include <stdio.h>

void bench_platform_row(const struct bench_platform *platform, const char *measure, const char *how,
                        double at, struct bench_samples *samples)
{
    if (platform->job->rank == 0 && samples->count > 0) {
        printf("{\"measure\": \"%s\", \"how\": \"%s\", \"at\": %.17g, \"samples\": [", measure, how,
               at);
        for (size_t i = 0; i < samples->count; i++)
            printf("%s%.9g", i == 0 ? "" : ", ", samples->values[i]);
        puts("]}");
        fflush(stdout);
    }
    bench_samples_destroy(samples);
    *samples = (struct bench_samples){0};
}

static void write_job(const struct bench_platform *platform)
{
    const struct bench_job *job = platform->job;
    int nodes = platform->count;
    if (job->rank == 0)
        printf("{\"measure\": \"job\", \"ranks\": %d, \"nodes\": %d, \"processors\": %d, "
               "\"shared\": %s, \"host\": \"%s\"}\n",
               job->ranks, job->one_node ? 1 : nodes, job->processors, job->fits ? "false" : "true",
               job->library);
}

int bench_platform_run(const struct bench_job *job, const struct bench_options *options)
{
    struct bench_platform platform = {.job = job,
                                      .ends = job->one_node ? MPI_COMM_WORLD : job->leaders,
                                      .seconds = options->seconds,
                                      .longest = options->longest};
    platform.end = -1;
    if (platform.ends != MPI_COMM_NULL) {
        MPI_Comm_rank(platform.ends, &platform.end);
        MPI_Comm_size(platform.ends, &platform.count);
    }
    write_job(&platform);
    if (options->between_nodes && job->one_node)
        return 0;
    bench_platform_compute(&platform);
    if (job->ranks > 1) {
        bench_platform_network(&platform);
        bench_platform_calls(&platform);
        bench_platform_sharing(&platform);
        bench_platform_synchronisation(&platform);
    }
    return 0;
}
