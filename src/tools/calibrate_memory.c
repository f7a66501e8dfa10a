/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies and memory: a core copies what it wrote itself, what another core wrote, what is in the
 * memory of a node; and all cores of a node together. Reads from memory one after the other.
 */
#include "tools/calibrate.h"

#include <stdlib.h>

#define KIB 1024
#define MIB (1024 * 1024)
/* Small enough for the second-level cache of both sides, large enough to stream. */
#define PIECE (64 * (size_t)KIB)
#define SHORT_PIECE (4 * (size_t)KIB)
#define OWN_PIECE (8 * (size_t)KIB)
#define OWN_COPIES 64
/* Memory, not caches: several times the last cache, within reason. */
#define CACHES 4
#define LARGE_LEAST (64 * (size_t)MIB)
#define LARGE_MOST (512 * (size_t)MIB)
#define COPY_SHARE 0.1
#define MEMORY_SHARE 0.1
#define TOGETHER_SHARE 0.1
#define LEAST 5
/* Far enough apart that nothing is fetched along. */
#define STEP 256
#define STEPS_PER_SAMPLE 20000

static double rate(size_t bytes, uint64_t started)
{
    return (double)bytes / (double)(sb_now_ns() - started);
}

static int node_of(const sb_calibration_t *calibration, size_t core)
{
    return calibration->cores[core].unit[SB_LEVEL_NUMA];
}

/* --- Within one core. --- */

static void copy_own(sb_calibration_t *calibration)
{
    sb_samples_t samples = {0};
    uint64_t until = sb_until(COPY_SHARE / 4 * calibration->seconds);
    char *from = sb_map(2 * OWN_PIECE, node_of(calibration, 0));

    sb_pin(calibration->cores[0].cpu);
    while (sb_sample_more(&samples, LEAST, until)) {
        uint64_t started = sb_now_ns();
        for (size_t i = 0; i < OWN_COPIES; i++) {
            sb_copy(from + OWN_PIECE, from, OWN_PIECE);
            sb_keep_order();
        }
        sb_sample(&samples, rate(OWN_COPIES * OWN_PIECE, started));
    }
    sb_unmap(from, 2 * OWN_PIECE);
    sb_measured(calibration, SB_NUMBER_COPY_CORE, sb_median(&samples),
                "copies of %zu KiB within the core's own cache", OWN_PIECE / KIB);
}

/* --- From another core. --- */

typedef struct pieces {
    char *from;
    char *to;
    char *source; /* what the partner writes into `from` */
} pieces_t;

static void fill(void *argument)
{
    pieces_t *pieces = argument;

    sb_copy(pieces->from, pieces->source, PIECE);
}

/* A core nearest to core `a` at that level, or the number of cores. */
static size_t core_at(const sb_calibration_t *calibration, size_t a, unsigned near)
{
    for (size_t b = 0; b < calibration->count; b++) {
        if (b != a && sb_cores_level(&calibration->cores[a], &calibration->cores[b]) == near)
            return b;
    }
    return calibration->count;
}

/* The first `bytes` of what another core wrote just before: the time of one copy. */
static double time_from(sb_calibration_t *calibration, sb_partner_t *partner, size_t other,
                        size_t bytes)
{
    sb_samples_t samples = {0};
    char *memory = sb_map(3 * PIECE, node_of(calibration, other));
    pieces_t pieces = {memory, memory + PIECE, memory + 2 * PIECE};
    uint64_t until = sb_until(COPY_SHARE / 2 / SB_NEARNESS * calibration->seconds);

    sb_partner_move(partner, calibration->cores[other].cpu);
    while (sb_sample_more(&samples, LEAST, until)) {
        sb_partner_run(partner, fill, &pieces);
        uint64_t started = sb_now_ns();
        sb_copy(pieces.to, pieces.from, bytes);
        sb_keep_order();
        sb_sample(&samples, (double)(sb_now_ns() - started));
    }
    sb_unmap(memory, 3 * PIECE);
    return sb_median(&samples);
}

static void copy_from(sb_calibration_t *calibration, sb_partner_t *partner, size_t other,
                      unsigned near)
{
    bool first = !sb_is_known(calibration, SB_NUMBER_COPY_START);
    double whole = time_from(calibration, partner, other, PIECE);
    double part = first ? time_from(calibration, partner, other, SHORT_PIECE) : 0;

    sb_measured(calibration, (sb_number_t)(SB_NUMBER_COPY_L2 + near), (double)PIECE / whole,
                "copies of %zu KiB that another core wrote just before", PIECE / KIB);
    part -= whole * (double)SHORT_PIECE / (double)PIECE;
    if (first)
        sb_measured(calibration, SB_NUMBER_COPY_START, part > 0 ? part : 0,
                    "the same of %zu KiB, less as many bytes of the longer one", SHORT_PIECE / KIB);
}

void sb_calibrate_copies(sb_calibration_t *calibration)
{
    sb_partner_t *partner = sb_partner_start();

    sb_pin(calibration->cores[0].cpu);
    for (unsigned near = 0; near < SB_NEARNESS; near++) {
        size_t other = core_at(calibration, 0, near);
        if (other < calibration->count)
            copy_from(calibration, partner, other, near);
    }
    sb_partner_stop(partner);
}

/* --- From memory. --- */

static size_t large_bytes(const sb_calibration_t *calibration)
{
    size_t cache = sb_max(sb_topology_cache(calibration->topology, SB_LEVEL_L3),
                          sb_topology_cache(calibration->topology, SB_LEVEL_L2));

    return sb_min(sb_max(CACHES * cache, LARGE_LEAST), LARGE_MOST);
}

/* A random circle through the memory, by Sattolo's algorithm. */
static void **make_circle(char *memory, size_t bytes)
{
    size_t count = bytes / STEP;
    uint64_t random = 88172645463325252;

    for (size_t i = 0; i < count; i++)
        *(void **)(void *)(memory + i * STEP) = memory + i * STEP;
    for (size_t i = count - 1; i > 0; i--) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        void **one = (void **)(void *)(memory + i * STEP);
        void **other = (void **)(void *)(memory + (size_t)(random % i) * STEP);
        void *kept = *one;
        *one = *other;
        *other = kept;
    }
    return (void **)(void *)memory;
}

static double latency(void ***at)
{
    uint64_t started = sb_now_ns();

    for (size_t i = 0; i < STEPS_PER_SAMPLE; i++)
        *at = (void **)**at;
    SB_USE(*at);
    return (double)(sb_now_ns() - started) / STEPS_PER_SAMPLE;
}

static double memory_latency(sb_calibration_t *calibration, int node)
{
    sb_samples_t samples = {0};
    size_t bytes = large_bytes(calibration);
    char *memory = sb_map(bytes, node);
    void **at = make_circle(memory, bytes);
    uint64_t until = sb_until(MEMORY_SHARE / 3 * calibration->seconds);

    while (sb_sample_more(&samples, LEAST, until))
        sb_sample(&samples, latency(&at));
    sb_unmap(memory, bytes);
    return sb_median(&samples);
}

/* A piece of memory that a core copies from, through all of it, until told to stop. */
typedef struct stream {
    unsigned cpu;
    int node;
    size_t bytes;
    double seconds;
    double rate; /* the answer */
} stream_t;

static void run_stream(void *argument)
{
    stream_t *stream = argument;
    char *memory = sb_map(stream->bytes, stream->node);
    char *to = sb_map(PIECE, stream->node);
    uint64_t until = sb_until(stream->seconds);
    uint64_t started = sb_now_ns();
    size_t copied = 0;

    while (sb_now_ns() < until || copied < stream->bytes) {
        sb_copy(to, memory + copied % stream->bytes, PIECE);
        sb_keep_order();
        copied += PIECE;
    }
    stream->rate = rate(copied, started);
    sb_unmap(memory, stream->bytes);
    sb_unmap(to, PIECE);
}

/* The first core of a node that is that near to the first core, but not in its node; or count. */
static size_t far_core(const sb_calibration_t *calibration, unsigned near)
{
    size_t core = core_at(calibration, 0, near);
    bool other = core < calibration->count && node_of(calibration, core) != node_of(calibration, 0);

    return other ? core : calibration->count;
}

static void read_memory(sb_calibration_t *calibration)
{
    stream_t stream = {calibration->cores[0].cpu, node_of(calibration, 0), large_bytes(calibration),
                       MEMORY_SHARE / 3 * calibration->seconds, 0};

    sb_pin(stream.cpu);
    sb_measured(calibration, SB_NUMBER_MEMORY_NUMA, memory_latency(calibration, stream.node),
                "chain of reads at random through %zu MiB of the core's node", stream.bytes / MIB);
    for (unsigned near = SB_LEVEL_PACKAGE; near <= SB_LEVEL_TOP; near++) {
        size_t core = far_core(calibration, near);
        if (core < calibration->count)
            sb_measured(calibration, (sb_number_t)(SB_NUMBER_MEMORY_NUMA + near - SB_LEVEL_NUMA),
                        memory_latency(calibration, node_of(calibration, core)),
                        "chain of reads at random through memory of another node");
    }
    run_stream(&stream);
    if (!sb_is_known(calibration, SB_NUMBER_COPY_NUMA))
        sb_measured(calibration, SB_NUMBER_COPY_NUMA, stream.rate,
                    "copies of %zu KiB from memory that no cache holds", PIECE / KIB);
}

/* --- All cores of a node together. --- */

static double stream_together(sb_calibration_t *calibration, int node)
{
    size_t count = calibration->count;
    stream_t *streams = sb_tool_take(count, sizeof *streams);
    sb_partner_t **partners = sb_tool_take(count, sizeof(sb_partner_t *));
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        if (node_of(calibration, i) != node_of(calibration, 0))
            continue;
        streams[i] = (stream_t){calibration->cores[i].cpu, node,
                                sb_min(large_bytes(calibration), 2 * LARGE_LEAST),
                                TOGETHER_SHARE / 3 * calibration->seconds, 0};
        partners[i] = sb_partner_start();
        sb_partner_move(partners[i], streams[i].cpu);
        sb_partner_begin(partners[i], run_stream, &streams[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (partners[i] == NULL)
            continue;
        sb_partner_finish(partners[i]);
        sb_partner_stop(partners[i]);
        sum += streams[i].rate;
    }
    free(streams);
    free(partners);
    return sum;
}

static void measure_together(sb_calibration_t *calibration)
{
    sb_measured(calibration, SB_NUMBER_NUMA_CONTROLLER,
                stream_together(calibration, node_of(calibration, 0)),
                "all cores of a node copy from its memory; it may give more to more cores");
    for (unsigned near = SB_LEVEL_PACKAGE; near <= SB_LEVEL_TOP; near++) {
        size_t core = far_core(calibration, near);
        if (core < calibration->count)
            sb_measured(calibration,
                        (sb_number_t)(SB_NUMBER_LINK_PACKAGE + near - SB_LEVEL_PACKAGE),
                        stream_together(calibration, node_of(calibration, core)),
                        "all cores of a node copy from the memory of another");
    }
}

void sb_calibrate_memory(sb_calibration_t *calibration)
{
    copy_own(calibration);
    if (calibration->count > 1)
        sb_calibrate_copies(calibration);
    read_memory(calibration);
    measure_together(calibration);
}
