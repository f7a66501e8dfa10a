/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ends of the network: half round trips over sizes, streams, and the longest message that
 * leaves while its receiver is away.
 */
#include "eager.h"
#include "platform.h"

#include <stdlib.h>
#include <time.h>

enum {
    ELEMENT = 4,
    ELEMENTS_MOST = 64 << 10,
    LEAST_SAMPLES = 7,
    MOST_SAMPLES = 2000,
    STREAM = 4 << 20,
    STREAMS = 5,
    AWAY_MS = 10
};

static int is_end(const struct bench_platform *platform)
{
    return platform->ends != MPI_COMM_NULL && platform->end < 2;
}

static void pass(const struct bench_platform *platform, char *data, int bytes, int first)
{
    if ((platform->end == 0) == first)
        MPI_Send(data, bytes, MPI_BYTE, 1 - platform->end, 0, platform->ends);
    else
        MPI_Recv(data, bytes, MPI_BYTE, 1 - platform->end, 0, platform->ends, MPI_STATUS_IGNORE);
}

/* End 0 tells whether to go on. */
static int agree_to_go_on(const struct bench_platform *platform, double start, size_t count)
{
    char more =
        count < LEAST_SAMPLES || (count < MOST_SAMPLES && bench_now() - start < platform->seconds);
    pass(platform, &more, 1, 1);
    return more;
}

/* Seconds of half a round trip, on end 0. A batch is timed at once. */
static void ping(const struct bench_platform *platform, char *data, int bytes,
                 struct bench_samples *samples)
{
    enum { BATCH = 10 };
    int batch = bytes <= 4096 ? BATCH : 1;
    double begun = bench_now();
    do {
        double start = bench_now();
        for (int i = 0; i < batch; i++) {
            pass(platform, data, bytes, 1);
            pass(platform, data, bytes, 0);
        }
        double each = (bench_now() - start) / (2 * batch);
        bench_samples_add(samples, &each, 1);
    } while (agree_to_go_on(platform, begun, samples->count));
}

static void measure_pings(const struct bench_platform *platform, char *data)
{
    struct bench_samples samples = {0};
    for (int elements = 1; elements <= ELEMENTS_MOST; elements *= 2) {
        if (is_end(platform))
            ping(platform, data, elements * ELEMENT, &samples);
        bench_platform_row(platform, "ping", "half round trip", elements, &samples);
    }
}

/* Bytes a second in one direction. */
static void measure_streams(const struct bench_platform *platform, char *data)
{
    enum { MESSAGES = 2 };
    struct bench_samples samples = {0};
    for (int i = 0; i <= STREAMS && is_end(platform); i++) {
        char done = 0;
        double start = bench_now();
        for (int k = 0; k < MESSAGES; k++)
            pass(platform, data, STREAM, 1);
        pass(platform, &done, 1, 0);
        double rate = MESSAGES * (double)STREAM / (bench_now() - start);
        if (i > 0)
            bench_samples_add(&samples, &rate, 1);
    }
    bench_platform_row(platform, "stream", "one way", STREAM, &samples);
}

/* Seconds that the processor is busy with a short message. */
static void measure_sends(const struct bench_platform *platform, char *data)
{
    enum { ROUNDS = 50, SENDS = 10 };
    struct bench_samples samples = {0};
    for (int i = 0; i < ROUNDS && is_end(platform); i++) {
        char done = 0;
        double start = bench_now();
        for (int k = 0; k < SENDS; k++)
            pass(platform, data, ELEMENT, 1);
        double each = (bench_now() - start) / SENDS;
        pass(platform, &done, 1, 0);
        bench_samples_add(&samples, &each, 1);
    }
    bench_platform_row(platform, "send", "in a row", ELEMENT, &samples);
}

/* --- the eager limit ----------------------------------------------------------------------- */

static void sleep_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

struct away {
    const struct bench_platform *platform;
    char *data;
};

/* Whether the send returns before its receiver comes. Both ends get to know. */
static int leaves_alone(void *context, int bytes)
{
    const struct away *away = context;
    const struct bench_platform *platform = away->platform;
    char alone = 0;
    pass(platform, &alone, 1, 0);
    if (platform->end == 1)
        sleep_ms(AWAY_MS);
    double start = bench_now();
    pass(platform, away->data, bytes, 1);
    alone = bench_now() - start < AWAY_MS * 0.5e-3;
    pass(platform, &alone, 1, 1);
    return alone;
}

/* The largest and the smallest that are known to leave, and not to. */
static void measure_eager(const struct bench_platform *platform, char *data)
{
    struct bench_samples samples = {0};
    if (is_end(platform)) {
        struct away away = {platform, data};
        int leaves, stays;
        bench_eager_search(leaves_alone, &away, STREAM, &leaves, &stays);
        bench_samples_add(&samples, (const double[]){leaves, stays}, 2);
    }
    bench_platform_row(platform, "eager", "receiver away", AWAY_MS, &samples);
}

void bench_platform_network(const struct bench_platform *platform)
{
    char *data = calloc(1, STREAM * 2);
    if (bench_maximum(platform->job, data == NULL) == 0.0) {
        measure_pings(platform, data);
        measure_streams(platform, data);
        measure_sends(platform, data);
        measure_eager(platform, data);
    }
    free(data);
    platform->job->host.barrier(MPI_COMM_WORLD);
}
