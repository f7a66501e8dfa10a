/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: sobor-bench-copy [--sources STEP] [--sizes BYTES,...] [STEP]
 *
 * The copy loops of this library beside the C library's copy and a plain loop, over offsets within
 * the page: the source at a few, or with --sources at every multiple of that STEP, the destination
 * at every multiple of STEP bytes (16). `--sources 16` is all 65,536 pairs of multiples of 16.
 * Sizes are the powers of two from 256 bytes to 4 MiB, or those named, multiples of 16 that may end
 * with K or M. Some processors copy several times slower at some offsets. A figure is the time of
 * the fastest of the three at the same offsets, divided by that of ours: 1.00 where ours is the
 * fastest. Offsets at which ours is not are timed again some times, all ways alike, before they are
 * believed; where ours has less than 0.9 of the fastest's speed then, they are timed anew up to 15
 * times, apart in time: the system may have taken the processor away for longer. What counts then
 * is the upper end of the 95 % interval of the median. The exit status is 1 if that of a point is
 * below 0.9. The last columns are the slowest offset of each way relative to its own median: how
 * much offsets matter to it. A second table is of copies into lines that another core has read, as
 * ranks do it, and of that core's copies out of them.
 *
 * Without options it takes about a minute. All pairs of a size take 5 to 25 seconds up to 128 KiB,
 * 10 minutes at 1 MiB and three quarters of an hour at 4 MiB, all sizes an hour and a half.
 */
#include "machine/machine.h"

#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, LEAST = 256, MOST = 4 << 20, ROUNDS = 7, TRIPS = 20000 };
enum { REPEATS = 8 }; /* of a pair of offsets that looks slow: */
#define SLOW 0.95     /* of the fastest way's speed */
#define ENOUGH 0.9
/* A pair that still has less is timed anew so often. The median's interval of 95 % ends with the
 * fourth best of these times. */
enum { ANEW = 15, INTERVAL = 4, APART_US = 2000 };
/* Bytes in a row between two looks at the clock, which takes as long as a copy of 1 KiB. */
enum { ROW = 128 << 10, STREAMING_ROW = 16 << 10 };
enum { VECTOR = 16, SIZES_MOST = 32 };
enum { SHARED_LEAST = 1024, SHARED_MOST = MOST / 4, SHARED_TRIPS = 400, LOOKS = 1 << 16 };
enum { OURS, LIBRARY, PLAIN, STREAMING, WAYS };

typedef void copy_t(void *restrict to, const void *restrict from, size_t bytes);

static const char *const names[WAYS] = {"ours", "library", "plain", "streaming"};
static const size_t some_offsets[] = {0, 16, 64, 2048};

/* What is asked for. */
typedef struct choice {
    size_t step;    /* of targets */
    size_t sources; /* step of sources; 0: some_offsets */
    size_t sizes[SIZES_MOST];
    size_t size_count;
    bool named; /* by the user */
} choice_t;

static size_t source_count(const choice_t *choice)
{
    return choice->sources == 0 ? SB_COUNT_OF(some_offsets)
                                : (PAGE + choice->sources - 1) / choice->sources;
}

static size_t target_count(const choice_t *choice)
{
    return (PAGE + choice->step - 1) / choice->step;
}

static size_t source_of(const choice_t *choice, size_t pair)
{
    size_t source = pair / target_count(choice);

    return choice->sources == 0 ? some_offsets[source] : source * choice->sources;
}

static size_t target_of(const choice_t *choice, size_t pair)
{
    return pair % target_count(choice) * choice->step;
}

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

/* Of one pair. */
typedef struct times {
    double ns[WAYS];
} times_t;

/* After one call that is not timed, which brings both sides into the caches. */
static double time_once(copy_t *copy, char *to, const char *from, size_t bytes, size_t row)
{
    size_t calls = sb_max(1, row / bytes);

    copy(to, from, bytes);
    uint64_t start = sb_now_ns();

    for (size_t i = 0; i < calls; i++)
        copy(to, from, bytes);
    return (double)(sb_now_ns() - start) / (double)calls;
}

/* The best of several rounds; ways take turns, so that whatever else the machine does meets all. */
static void time_ways(times_t *times, char *to, const char *from, size_t bytes)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int way = OURS; way < STREAMING; way++) {
            double ns = time_once(ways[way], to, from, bytes, ROW);
            if (ns < times->ns[way])
                times->ns[way] = ns;
        }
    }
}

static double against_best(const double ns[])
{
    double best = ns[OURS];

    for (int way = LIBRARY; way <= PLAIN; way++)
        best = ns[way] < best ? ns[way] : best;
    return best / ns[OURS];
}

/* Streaming by itself: it takes the target out of the caches, for whoever comes next. So it takes
 * many times as long; once will do, for it is not what ours is measured by. */
static times_t time_pair(char *to, const char *from, size_t bytes)
{
    times_t times = {{1e18, 1e18, 1e18, 1e18}};

    time_ways(&times, to, from, bytes);
    for (int i = 0; i < REPEATS && against_best(times.ns) < SLOW; i++)
        time_ways(&times, to, from, bytes);
    times.ns[STREAMING] = time_once(ways[STREAMING], to, from, bytes, STREAMING_ROW);
    return times;
}

static void keep(summary_t *summary, size_t pair, const times_t *times)
{
    for (int way = 0; way < WAYS; way++)
        summary->ns[way][pair] = times->ns[way];
}

static double speed_at(const summary_t *summary, size_t pair)
{
    double ns[WAYS];

    for (int way = 0; way < WAYS; way++)
        ns[way] = summary->ns[way][pair];
    return against_best(ns);
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

/* Returns how many pairs are too slow, and the least speed in `least`. Sorts. */
static size_t report(summary_t *summary, const choice_t *choice, size_t bytes, double *least)
{
    size_t worst = 0, below = 0;
    double sum = 0;

    for (size_t pair = 0; pair < summary->pairs; pair++) {
        double speed = speed_at(summary, pair);
        sum += speed;
        below += speed < ENOUGH;
        if (speed < speed_at(summary, worst))
            worst = pair;
    }
    *least = speed_at(summary, worst);
    printf("%9zu %6.2f %6.2f %6zu   %4zu -> %4zu ", bytes, sum / (double)summary->pairs, *least,
           below, source_of(choice, worst), target_of(choice, worst));
    for (int way = 0; way < WAYS; way++) {
        double even = evenness(summary->ns[way], summary->pairs);
        double median = summary->ns[way][summary->pairs / 2];
        printf("  %8.2f %4.2f", (double)bytes / median, even);
    }
    printf("\n");
    fflush(stdout);
    return below;
}

static int best_first(const void *a, const void *b)
{
    double x = against_best(((const times_t *)a)->ns), y = against_best(((const times_t *)b)->ns);

    return (x < y) - (x > y);
}

/*
 * Each time by itself: what one measurement met, the next does not know. The first one, which made
 * the pair a suspect, is left out. Neither one lucky measurement of many clears a pair, nor does an
 * unlucky one condemn it.
 */
static void time_anew(summary_t *summary, size_t pair, char *to, const char *from, size_t bytes)
{
    times_t all[ANEW];
    size_t done = 0;

    do {
        usleep(APART_US);
        all[done++] = time_pair(to, from, bytes);
        qsort(all, done, sizeof *all, best_first);
    } while (done < INTERVAL || (done < ANEW && against_best(all[INTERVAL - 1].ns) < ENOUGH));
    keep(summary, pair, &all[INTERVAL - 1]);
}

static void measure(summary_t *summary, const choice_t *choice, char *to, const char *from,
                    size_t bytes)
{
    for (size_t pair = 0; pair < summary->pairs; pair++) {
        times_t times =
            time_pair(to + target_of(choice, pair), from + source_of(choice, pair), bytes);
        keep(summary, pair, &times);
    }
    for (size_t pair = 0; pair < summary->pairs; pair++) {
        if (speed_at(summary, pair) < ENOUGH)
            time_anew(summary, pair, to + target_of(choice, pair), from + source_of(choice, pair),
                      bytes);
    }
}

/* Copies that go from one thread into shared lines, and from there to the other thread. */
typedef struct journey {
    copy_t *write;
    char *from, *lines, *to;
    size_t bytes;
    uint64_t trips;
    double *written, *read; /* nanoseconds of each trip */
} journey_t;

static sb_wide_flag_t ball;
static sb_word32_t sleepers; /* none: who publishes looks at no line that the other has */

/* Where other programs have the processors, the other thread may have none until their time is
 * over. No turn on processors of their own takes so many looks. */
static const sb_waiter_t waiter = {
    .paused_spins = LOOKS, .yield = true, .sleep_after_ns = UINT64_MAX};

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

static double elapsed(uint64_t start)
{
    return (double)(sb_now_ns() - start);
}

static void *answer(void *given)
{
    const journey_t *journey = given;

    pin(1);
    for (uint64_t i = 0; i < journey->trips; i++) {
        (void)sb_flag_wait(&ball.flag, 2 * i + 1, &waiter);
        uint64_t start = sb_now_ns();
        if (journey->bytes > 0)
            sb_copy(journey->to, journey->lines, journey->bytes);
        journey->read[i] = elapsed(start);
        sb_flag_publish(&ball.flag, 2 * i + 2);
    }
    return given;
}

static void travel(journey_t *journey)
{
    pthread_t other;

    /* Relaxed: the other thread is not there yet. */
    sb_store64(&ball.flag.value, 0, SB_RELAXED);
    if (pthread_create(&other, NULL, answer, journey) != 0) {
        perror("sobor-bench-copy");
        exit(2);
    }
    for (uint64_t i = 0; i < journey->trips; i++) {
        uint64_t start = sb_now_ns();
        if (journey->bytes > 0)
            journey->write(journey->lines, journey->from, journey->bytes);
        journey->written[i] = elapsed(start);
        sb_flag_publish(&ball.flag, 2 * i + 1);
        (void)sb_flag_wait(&ball.flag, 2 * i + 2, &waiter);
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

/* Microseconds of writing and of reading one size, the median of each, by way. */
static void measure_shared_size(char *to, char *from, char *lines, size_t bytes)
{
    static copy_t *const writes[] = {copy_into_shared, copy_library, copy_plain, sb_copy_streaming};
    static double written[SHARED_TRIPS], read[SHARED_TRIPS];

    printf("\n%9zu", bytes);
    for (size_t way = 0; way < SB_COUNT_OF(writes); way++) {
        journey_t journey = {writes[way], from + 16,    lines,   to + 16,
                             bytes,       SHARED_TRIPS, written, read};
        travel(&journey);
        qsort(written, SHARED_TRIPS, sizeof *written, by_value);
        qsort(read, SHARED_TRIPS, sizeof *read, by_value);
        printf("  %9.2f %6.2f", written[SHARED_TRIPS / 2] / 1000, read[SHARED_TRIPS / 2] / 1000);
    }
}

/* Of the sizes that are named, or every other one. */
static void measure_shared(const choice_t *choice, char *to, char *from, char *lines)
{
    printf("into lines that another core has read (us: written by, then read by the other)\n%9s",
           "bytes");
    for (int way = 0; way < WAYS; way++)
        printf("  %9s   read", names[way]);
    for (size_t i = 0; i < choice->size_count && choice->named; i++)
        measure_shared_size(to, from, lines, choice->sizes[i]);
    for (size_t bytes = SHARED_LEAST; bytes <= SHARED_MOST && !choice->named; bytes *= 4)
        measure_shared_size(to, from, lines, bytes);
    printf("\n");
}

static char *map(void)
{
    char *memory =
        mmap(NULL, MOST + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        perror("sobor-bench-copy");
        exit(2);
    }
    memset(memory, 1, MOST + 2 * PAGE);
    return memory;
}

static const char usage[] =
    "usage: sobor-bench-copy [--sources STEP] [--sizes BYTES,...] [STEP]\n"
    "Steps are at least 1 and at most 4096, sizes multiples of 16 up to 4M.\n"
    "--sources 16 is all pairs of offsets: 5 to 25 seconds a size up to 128K, 10 minutes at 1M,\n"
    "an hour and a half for all sizes; without it all take about a minute.\n";

static bool is_step(const char *text, size_t *step)
{
    char *end;

    *step = strtoul(text, &end, 10);
    return *end == '\0' && *step >= 1 && *step <= PAGE;
}

static bool are_sizes(char *text, choice_t *choice)
{
    choice->size_count = 0;
    choice->named = true;
    for (char *rest, *word = strtok_r(text, ",", &rest); word != NULL;
         word = strtok_r(NULL, ",", &rest)) {
        char *end;
        size_t bytes = strtoul(word, &end, 10);
        if (*end == 'K' || *end == 'M')
            bytes <<= *end++ == 'K' ? 10 : 20;
        if (*end != '\0' || bytes == 0 || bytes % VECTOR != 0 || bytes > MOST ||
            choice->size_count == SIZES_MOST)
            return false;
        choice->sizes[choice->size_count++] = bytes;
    }
    return choice->size_count > 0;
}

static bool read_choice(int argc, char **argv, choice_t *choice)
{
    static const struct option options[] = {{"sources", required_argument, NULL, 's'},
                                            {"sizes", required_argument, NULL, 'b'},
                                            {NULL, 0, NULL, 0}};

    *choice = (choice_t){.step = 16};
    for (size_t bytes = LEAST; bytes <= MOST; bytes *= 2)
        choice->sizes[choice->size_count++] = bytes;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (!(option == 's' && is_step(optarg, &choice->sources)) &&
            !(option == 'b' && are_sizes(optarg, choice)))
            return false;
    }
    return optind == argc || (optind + 1 == argc && is_step(argv[optind], &choice->step));
}

static summary_t make_summary(const choice_t *choice)
{
    summary_t summary = {.pairs = source_count(choice) * target_count(choice)};

    for (int way = 0; way < WAYS; way++) {
        summary.ns[way] = calloc(summary.pairs, sizeof(double));
        if (summary.ns[way] == NULL) {
            perror("sobor-bench-copy");
            exit(2);
        }
    }
    return summary;
}

/* Returns how many points are too slow. */
static size_t measure_sizes(const choice_t *choice, char *to, const char *from, double *least)
{
    summary_t summary = make_summary(choice);
    size_t below = 0;

    printf("%9s %6s %6s %6s   %-12s", "bytes", "mean", "worst", "< 0.9", "offsets");
    for (int way = 0; way < WAYS; way++)
        printf("  %8s even", names[way]);
    printf("   (GB/s, slowest offset)\n");
    for (size_t i = 0; i < choice->size_count; i++) {
        double worst;
        measure(&summary, choice, to, from, choice->sizes[i]);
        below += report(&summary, choice, choice->sizes[i], &worst);
        *least = worst < *least ? worst : *least;
    }
    for (int way = 0; way < WAYS; way++)
        free(summary.ns[way]);
    return below;
}

int main(int argc, char **argv)
{
    choice_t choice;
    double least = 1;

    if (!read_choice(argc, argv, &choice)) {
        fputs(usage, stderr);
        return 2;
    }
    char *from = map(), *to = map(), *lines = map();
    sched_getaffinity(0, sizeof processors, &processors);
    pin(0);
    sb_machine_start();
    sb_sleepers_share(&sleepers);
    printf("line round trip %.0f ns\n", round_trip());
    size_t below = measure_sizes(&choice, to, from, &least);
    measure_shared(&choice, to, from, lines);
    printf("worst point %.2f, %zu of %zu points below %.1f, line round trip %.0f ns\n", least,
           below, choice.size_count * source_count(&choice) * target_count(&choice), ENOUGH,
           round_trip());
    return below > 0;
}
