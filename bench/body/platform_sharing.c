/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How transfers share the network: one exchange of two ends; one pair of ends against all pairs at
 * once; and one pair of processes of two nodes against many. Samples are bytes a second of all that
 * take part.
 */
#include "platform.h"

#include <stdlib.h>

enum { BYTES = 4 << 20, EXCHANGES = 1, SAMPLES = 4 };

/* Sends to one and receives from another of a communicator; the bytes of all in the longest time
 * that one takes. */
static void measure(const struct bench_platform *platform, const char *measure, double senders,
                    MPI_Comm comm, int to, int from, char *data)
{
    const struct bench_job *job = platform->job;
    struct bench_samples samples = {0};
    for (int i = 0; i <= SAMPLES; i++) {
        job->host.barrier(MPI_COMM_WORLD);
        double start = bench_now();
        for (int k = 0; k < EXCHANGES && (to != MPI_PROC_NULL || from != MPI_PROC_NULL); k++)
            MPI_Sendrecv(data, BYTES, MPI_BYTE, to, 0, data + BYTES, BYTES, MPI_BYTE, from, 0, comm,
                         MPI_STATUS_IGNORE);
        double longest = bench_maximum(
            job, to == MPI_PROC_NULL && from == MPI_PROC_NULL ? 0.0 : bench_now() - start);
        double rate = senders * EXCHANGES * BYTES / longest;
        if (i > 0)
            bench_samples_add(&samples, &rate, 1);
    }
    bench_platform_row(platform, measure, "bytes of all", senders, &samples);
}

/* Of pairs only one end sends: where both do, what each has to acknowledge waits behind what it
 * sends, and is not the switch's. */
static void measure_switch(const struct bench_platform *platform, char *data)
{
    int ends = (int)bench_agree(platform->job, platform->count), end = platform->end;
    int other = end >= 0 && end < 2 ? 1 - end : MPI_PROC_NULL;
    measure(platform, "exchange", 2, platform->ends, other, other, data);
    for (int pairs = 1; pairs <= ends / 2; pairs = pairs == 1 && ends > 3 ? ends / 2 : ends) {
        int takes_part = end >= 0 && end < 2 * pairs;
        measure(platform, "pairs", pairs, platform->ends,
                takes_part && end % 2 == 0 ? end + 1 : MPI_PROC_NULL,
                takes_part && end % 2 == 1 ? end - 1 : MPI_PROC_NULL, data);
    }
}

/* Pairs of the first two nodes, one way. */
static void measure_lanes(const struct bench_platform *platform, char *data)
{
    const struct bench_job *job = platform->job;
    int mine[2] = {platform->end, 0}, sizes[2] = {0, 0};
    job->host.bcast(&mine[0], 1, MPI_INT, 0, job->node);
    MPI_Comm_rank(job->node, &mine[1]);
    for (int node = 0; node < 2; node++) {
        int here = mine[0] == node;
        job->allreduce(&here, &sizes[node], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, mine[0] < 2 ? 0 : 1, mine[0] * job->ranks + mine[1], &comm);
    int most = sizes[0] < sizes[1] ? sizes[0] : sizes[1];
    for (int pairs = 1; pairs <= most;
         pairs = pairs < most && 2 * pairs > most ? most : 2 * pairs) {
        int takes_part = mine[0] < 2 && mine[1] < pairs;
        int to = takes_part && mine[0] == 0 ? sizes[0] + mine[1] : MPI_PROC_NULL;
        int from = takes_part && mine[0] == 1 ? mine[1] : MPI_PROC_NULL;
        measure(platform, "lanes", pairs, comm, to, from, data);
    }
    MPI_Comm_free(&comm);
}

void bench_platform_sharing(const struct bench_platform *platform)
{
    char *data = calloc(1, 2 * (size_t)BYTES);
    if (bench_maximum(platform->job, data == NULL) == 0.0) {
        measure_switch(platform, data);
        if (!platform->job->one_node)
            measure_lanes(platform, data);
    }
    free(data);
}
