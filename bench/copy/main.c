/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: sobor-bench-copy [STEP]
 *
 * The copy loops of this library beside the C library's copy and a plain loop, over offsets within
 * the page: the source at a few, the destination at every multiple of STEP bytes (16). Some
 * processors copy several times slower at some of them. A figure is the time of the fastest of the
 * three at the same offsets, divided by that of ours: 1.00 where ours is the fastest. Offsets at
 * which ours is not are timed again some times, all ways alike, before they are believed. The last
 * columns are the slowest offset of each way relative to its own median: how much offsets matter to
 * it. A second table is of copies into lines that another core has read, as ranks do it, and of
 * that core's copies out of them.
 */
#include "machine/machine.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, LEAST = 256, MOST = 4 << 20, ROUNDS = 7, TRIPS = 20000 };
enum { REPEATS = 8 }; /* of a pair of offsets that looks slow: */
#define SLOW 0.95     /* of the fastest way's speed */
enum { SHARED_LEAST = 1024, SHARED_TRIPS = 400 };
enum { OURS, LIBRARY, PLAIN, STREAMING, WAYS };

typedef void copy_t(void *restrict to, const void *restrict from, size_t bytes);

static const char *const names[WAYS] = {"ours", "library", "plain", "streaming"};
static const size_t source_offsets[] = {0, 16, 64, 2048};

static void copy_ours(void *restrict to, const void *restrict from, size_t bytes)
{
    sb_copy(to, from, bytes);
}

static void copy_into_shared(void *restrict to, const void *restrict from, size_t bytes)
{
    sb_copy_shared(to, from, bytes);
}

static void copy_library(void *restrict to, const void *restrict from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void copy_plain(void *restrict to, const void *restrict from, size_t bytes)
{
    typedef long long vector_t __attribute__((vector_size(16), aligned(1), may_alias));
    char *target = to;
    const char *source = from;

    for (size_t i = 0; i < bytes; i += sizeof(vector_t)) {
        *(vector_t *)(void *)(target + i) = *(const vector_t *)(const void *)(source + i);
        __asm__ volatile("" ::: "memory"); /* not to be made a call of the library's copy */
    }
}

static copy_t *const ways[WAYS] = {copy_ours, copy_library, copy_plain, sb_copy_streaming};

/* What is known of one size. */
typedef struct summary {
    double *ns[WAYS]; /* by pair of offsets */
    size_t pairs;
} summary_t;

/* After one call that is not timed, which brings both sides into the caches. */
static double time_once(copy_t *copy, char *to, const char *from, size_t bytes)
{
    size_t calls = sb_max(1, (size_t)65536 / bytes);

    copy(to, from, bytes);
    uint64_t start = sb_now_ns();

    for (size_t i = 0; i < calls; i++)
        copy(to, from, bytes);
    return (double)(sb_now_ns() - start) / (double)calls;
}

/* The best of several rounds; ways take turns, so that whatever else the machine does meets all. */
static void time_ways(summary_t *summary, int first, int end, char *to, const char *from,
                      size_t bytes)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int way = first; way < end; way++) {
            double ns = time_once(ways[way], to, from, bytes);
            if (ns < summary->ns[way][summary->pairs])
                summary->ns[way][summary->pairs] = ns;
        }
    }
}

static double against_best(const summary_t *summary, size_t pair)
{
    double best = summary->ns[OURS][pair];

    for (int way = LIBRARY; way <= PLAIN; way++)
        best = summary->ns[way][pair] < best ? summary->ns[way][pair] : best;
    return best / summary->ns[OURS][pair];
}

/* Streaming by itself: it takes the target out of the caches, for whoever comes next. */
static void time_pair(summary_t *summary, char *to, const char *from, size_t bytes)
{
    for (int way = 0; way < WAYS; way++)
        summary->ns[way][summary->pairs] = 1e18;
    time_ways(summary, OURS, STREAMING, to, from, bytes);
    for (int i = 0; i < REPEATS && against_best(summary, summary->pairs) < SLOW; i++)
        time_ways(summary, OURS, STREAMING, to, from, bytes);
    time_ways(summary, STREAMING, WAYS, to, from, bytes);
    summary->pairs++;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of one way: the median time over the slowest. Sorts. */
static double evenness(double *ns, size_t count)
{
    qsort(ns, count, sizeof *ns, by_value);
    return ns[count / 2] / ns[count - 1];
}

static double report(summary_t *summary, size_t bytes, size_t step)
{
    size_t per_source = (PAGE + step - 1) / step, worst = 0;
    double sum = 0;

    for (size_t pair = 0; pair < summary->pairs; pair++) {
        sum += against_best(summary, pair);
        if (against_best(summary, pair) < against_best(summary, worst))
            worst = pair;
    }
    double least = against_best(summary, worst);
    printf("%9zu %6.2f %6.2f   %4zu -> %4zu ", bytes, sum / (double)summary->pairs, least,
           source_offsets[worst / per_source], worst % per_source * step);
    for (int way = 0; way < WAYS; way++) {
        double even = evenness(summary->ns[way], summary->pairs);
        double median = summary->ns[way][summary->pairs / 2];
        printf("  %8.2f %4.2f", (double)bytes / median, even);
    }
    printf("\n");
    fflush(stdout);
    return least;
}

static double measure(summary_t *summary, char *to, const char *from, size_t bytes, size_t step)
{
    summary->pairs = 0;
    for (size_t i = 0; i < SB_COUNT_OF(source_offsets); i++) {
        for (size_t offset = 0; offset < PAGE; offset += step)
            time_pair(summary, to + offset, from + source_offsets[i], bytes);
    }
    return report(summary, bytes, step);
}

/* Copies that go from one thread into shared lines, and from there to the other thread. */
typedef struct journey {
    copy_t *write;
    char *from, *lines, *to;
    size_t bytes;
    uint64_t trips;
    double *written, *read; /* nanoseconds of each trip */
} journey_t;

static _Alignas(2 * SB_LINE) sb_word64_t ball;

static cpu_set_t processors; /* that the program may use */

static void pin(uint32_t thread)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &processors) && thread-- == 0)
            CPU_SET(cpu, &one);
    }
    if (CPU_COUNT(&one) > 0)
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static void await(uint64_t value)
{
    while (sb_load64(&ball, SB_ACQUIRE) != value)
        sb_pause();
}

static double elapsed(uint64_t start)
{
    return (double)(sb_now_ns() - start);
}

static void *answer(void *given)
{
    const journey_t *journey = given;

    pin(1);
    for (uint64_t i = 0; i < journey->trips; i++) {
        await(2 * i + 1);
        uint64_t start = sb_now_ns();
        if (journey->bytes > 0)
            sb_copy(journey->to, journey->lines, journey->bytes);
        journey->read[i] = elapsed(start);
        sb_store64(&ball, 2 * i + 2, SB_RELEASE);
    }
    return given;
}

static void travel(journey_t *journey)
{
    pthread_t other;

    sb_store64(&ball, 0, SB_RELAXED);
    if (pthread_create(&other, NULL, answer, journey) != 0) {
        perror("sobor-bench-copy");
        exit(1);
    }
    for (uint64_t i = 0; i < journey->trips; i++) {
        uint64_t start = sb_now_ns();
        if (journey->bytes > 0)
            journey->write(journey->lines, journey->from, journey->bytes);
        journey->written[i] = elapsed(start);
        sb_store64(&ball, 2 * i + 1, SB_RELEASE);
        await(2 * i + 2);
    }
    pthread_join(other, NULL);
}

/* Nanoseconds of a line to another thread and back; machines change between near and far. */
static double round_trip(void)
{
    static double written[TRIPS], read[TRIPS];
    journey_t journey = {.trips = TRIPS, .written = written, .read = read};
    uint64_t start = sb_now_ns();

    travel(&journey);
    return elapsed(start) / TRIPS;
}

/* Microseconds of writing and of reading, the median of each, by way. */
static void measure_shared(char *to, char *from, char *lines)
{
    static copy_t *const writes[] = {copy_into_shared, copy_library, copy_plain, sb_copy_streaming};
    static const char *const written_by[] = {"ours", "library", "plain", "streaming"};
    static double written[SHARED_TRIPS], read[SHARED_TRIPS];

    printf("into lines that another core has read (us: written by, then read by the other)\n%9s",
           "bytes");
    for (size_t way = 0; way < SB_COUNT_OF(writes); way++)
        printf("  %9s   read", written_by[way]);
    for (size_t bytes = SHARED_LEAST; bytes <= MOST / 4; bytes *= 4) {
        printf("\n%9zu", bytes);
        for (size_t way = 0; way < SB_COUNT_OF(writes); way++) {
            journey_t journey = {writes[way], from + 16,    lines,   to + 16,
                                 bytes,       SHARED_TRIPS, written, read};
            travel(&journey);
            qsort(written, SHARED_TRIPS, sizeof *written, by_value);
            qsort(read, SHARED_TRIPS, sizeof *read, by_value);
            printf("  %9.2f %6.2f", written[SHARED_TRIPS / 2] / 1000,
                   read[SHARED_TRIPS / 2] / 1000);
        }
    }
    printf("\n");
}

static char *map(void)
{
    char *memory =
        mmap(NULL, MOST + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        perror("sobor-bench-copy");
        exit(1);
    }
    memset(memory, 1, MOST + 2 * PAGE);
    return memory;
}

int main(int argc, char **argv)
{
    unsigned long step = argc > 1 ? strtoul(argv[1], NULL, 10) : 16;
    char *from = map(), *to = map(), *lines = map();
    double least = 1;
    summary_t summary = {0};

    if (argc > 2 || step < 1 || step > PAGE) {
        fprintf(stderr, "usage: sobor-bench-copy [STEP]\n");
        return 2;
    }
    sched_getaffinity(0, sizeof processors, &processors);
    pin(0);
    sb_machine_start();
    for (int way = 0; way < WAYS; way++)
        summary.ns[way] = calloc(SB_COUNT_OF(source_offsets) * PAGE / step + PAGE, sizeof(double));
    printf("line round trip %.0f ns\n", round_trip());
    printf("%9s %6s %6s   %-12s", "bytes", "mean", "worst", "offsets");
    for (int way = 0; way < WAYS; way++)
        printf("  %8s even", names[way]);
    printf("   (GB/s, slowest offset)\n");
    for (size_t bytes = LEAST; bytes <= MOST; bytes *= 2) {
        double worst = measure(&summary, to, from, bytes, step);
        least = worst < least ? worst : least;
    }
    measure_shared(to, from, lines);
    printf("worst point %.2f, line round trip %.0f ns\n", least, round_trip());
    return 0;
}
