/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls in a row of all ends: allgather and alltoall, which forecasts are for, and exchanges of all
 * pairs at once, which they are made of: so ends that share a switch, or processors, do so there
 * too. Where ends are several nodes also an all-gather by BAGDS, and the exchange of each with
 * each: whole, and with the (p - 1)^2 transfers that are published for it, which leave out the
 * block of end 0.
 */
#include "baseline/exchanges.h"
#include "buffers.h"
#include "platform.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_LEAST = 1024 };
enum { GATHERED_LEAST = 16, GATHERED_MOST = 64 << 10, GATHERED_ENDS = 4 };

/* Where calls happen. */
struct place {
    MPI_Comm comm;
    int end, ends;
    char *data, *all;
    const sb_bagds_t *bagds;
};

struct calls {
    const char *name;
    void (*call)(const struct place *place, int bytes);
    int parts; /* a sample is of one */
    int least, most, factor;
};

static void swap(const struct place *place, int bytes, int to, int from)
{
    MPI_Sendrecv(place->data, bytes, MPI_BYTE, to, 0, place->all, bytes, MPI_BYTE, from, 0,
                 place->comm, MPI_STATUS_IGNORE);
}

/* All pairs at once, with one partner after the other, as calls change theirs. */
static void exchange(const struct place *place, int bytes)
{
    for (int distance = 1; distance < place->ends; distance *= 2) {
        int other = place->end ^ distance;
        if (other < place->ends)
            swap(place, bytes, other, other);
    }
}

static void allgather(const struct place *place, int bytes)
{
    MPI_Allgather(place->data, bytes, MPI_BYTE, place->all, bytes, MPI_BYTE, place->comm);
}

static void alltoall(const struct place *place, int bytes)
{
    MPI_Alltoall(place->data, bytes, MPI_BYTE, place->all, bytes, MPI_BYTE, place->comm);
}

static void each_with_each(const struct place *place, int bytes)
{
    for (int k = 1; k < place->ends; k++)
        swap(place, bytes, (place->end + k) % place->ends,
             (place->end + place->ends - k) % place->ends);
}

static void each_as_published(const struct place *place, int bytes)
{
    for (int k = 1; k < place->ends; k++) {
        int from = (place->end + place->ends - k) % place->ends;
        swap(place, bytes, place->end == 0 ? MPI_PROC_NULL : (place->end + k) % place->ends,
             from == 0 ? MPI_PROC_NULL : from);
    }
}

/* The blocks that move in a stage, between where they belong and one behind the other. Returns
 * their bytes. */
static int pack(const struct place *place, uint32_t stage, int bytes, bool comes, char *room)
{
    int packed = 0;
    for (uint32_t i = 0; i < place->bagds->members; i++) {
        if (!sb_bagds_moves(place->bagds, stage, i, comes))
            continue;
        char *block = place->all + (size_t)i * (size_t)bytes;
        if (room != NULL)
            memcpy(comes ? block : room + packed, comes ? room + packed : block, (size_t)bytes);
        packed += bytes;
    }
    return packed;
}

static void bagds(const struct place *place, int bytes)
{
    for (uint32_t stage = 0; stage < place->bagds->stages; stage++) {
        int partner = (int)sb_bagds_partner(place->bagds, stage);
        if (partner == place->ends)
            continue;
        int sent = pack(place, stage, bytes, false, place->data);
        int taken = pack(place, stage, bytes, true, NULL);
        MPI_Sendrecv(place->data, sent, MPI_BYTE, partner, 0, place->data + sent, taken, MPI_BYTE,
                     partner, 0, place->comm, MPI_STATUS_IGNORE);
        pack(place, stage, bytes, true, place->data + sent);
    }
}

/* Mean seconds of calls in a row, in the second half of a time: enough came before them that
 * buffers on the way are full. A sample is long enough for what lets calls pass and holds them up
 * by turns, a bucket of tokens or the scheduler. */
static void time_calls(double seconds, const struct calls *calls, const struct place *place,
                       int bytes, struct bench_samples *samples)
{
    enum { LEAST = 6, FIRST = 2 };
    const double long_enough = 5e-3;
    double begun = bench_now();
    for (int batch = 0, count = FIRST; count > 0; batch++) {
        double start = bench_now();
        for (int i = 0; i < count; i++)
            calls->call(place, bytes);
        double now = bench_now(), each = (now - start) / count / calls->parts;
        if (batch > 0 && start - begun < seconds)
            samples->count = 0;
        bench_samples_add(samples, &each, 1);
        count = now - start < long_enough ? 2 * count : count;
        count = batch + 1 < LEAST || now - begun < 2 * seconds ? count : 0;
        MPI_Bcast(&count, 1, MPI_INT, 0, place->comm);
    }
}

static void measure_size(const struct bench_platform *platform, const struct calls *calls,
                         const struct place *place, int bytes)
{
    struct bench_samples samples = {0};
    if (place->comm != MPI_COMM_NULL)
        time_calls(platform->seconds, calls, place, bytes, &samples);
    bench_platform_row(platform, calls->name, "calls in a row", bytes, &samples);
}

static void measure(const struct bench_platform *platform, const struct calls *calls,
                    const struct place *place)
{
    for (int bytes = calls->least; bytes <= calls->most; bytes *= calls->factor)
        measure_size(platform, calls, place, bytes);
}

/* By turns, so that what else the machine does falls on all of them. */
static void measure_gathering(const struct bench_platform *platform, struct place place)
{
    static const struct calls kinds[] = {{"each-with-each", each_with_each, .parts = 1},
                                         {"(p - 1)^2 transfers", each_as_published, .parts = 1},
                                         {"bagds", bagds, .parts = 1}};
    sb_bagds_t *schedule =
        place.end < 0 ? NULL : sb_bagds_new((uint32_t)place.ends, (uint32_t)place.end);
    place.bagds = schedule;
    if (bench_maximum(platform->job, place.end >= 0 && schedule == NULL) == 0.0)
        for (int bytes = GATHERED_LEAST; bytes <= GATHERED_MOST; bytes *= 2)
            for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
                measure_size(platform, &kinds[i], &place, bytes);
    free(schedule);
}

/* The longest block of which all ends of a node may have two for each end: a quarter of what memory
 * is free, alike on all. Each rank of a large node takes as much as it has ranks. */
static int longest_block(const struct bench_platform *platform, int ends)
{
    double each = 2.0 * ends * (platform->job->one_node ? ends : 1);
    double room = -bench_maximum(platform->job, -(double)bench_available_memory()) / 4;
    int bytes = platform->longest;
    while (bytes > BLOCK_LEAST && bytes * each > room)
        bytes /= 2;
    return bytes;
}

void bench_platform_calls(const struct bench_platform *platform)
{
    struct place place = {.comm = platform->ends, .end = platform->end};
    place.ends = (int)bench_agree(platform->job, platform->count);
    int block = longest_block(platform, place.ends), partners = 0;
    while (1 << partners < place.ends)
        partners++;
    const struct calls kinds[] = {
        {"exchange-time", exchange, partners, BLOCK_LEAST, 2 * platform->longest, 2},
        {"allgather", allgather, 1, BLOCK_LEAST, block, 4},
        {"alltoall", alltoall, 1, BLOCK_LEAST, block, 4}};
    size_t blocks = (size_t)place.ends * (size_t)block, pairs = 4 * (size_t)platform->longest;
    size_t most = blocks > pairs ? blocks : pairs;
    place.data = calloc(1, most), place.all = calloc(1, most);
    if (bench_maximum(platform->job, place.data == NULL || place.all == NULL) == 0.0) {
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            measure(platform, &kinds[i], &place);
        if (!platform->job->one_node && place.ends >= GATHERED_ENDS && block >= GATHERED_MOST)
            measure_gathering(platform, place);
    }
    free(place.data);
    free(place.all);
    platform->job->host.barrier(MPI_COMM_WORLD);
}
