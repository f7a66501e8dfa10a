/* SPDX-License-Identifier: BSD-3-Clause */
/* What the operating system costs one process: calls, sleeping and waking, pages. */
#include "tools/calibrate.h"

#include <string.h>

#include <sys/mman.h>
#include <unistd.h>

#define SHARE 0.05 /* of all seconds, for each measurement */
#define LEAST 9
#define CALLS 1000
#define PAGES 256
/* The sleeper has surely gone to sleep by then. */
#define ASLEEP_SECONDS 200e-6
#define SLEEP_LIMIT_NS 1000000000

static double time_pause(void)
{
    uint64_t started = sb_now_ns();

    for (int i = 0; i < CALLS; i++)
        sb_pause();
    return (double)(sb_now_ns() - started) / CALLS;
}

static double time_clock(void)
{
    uint64_t started = sb_now_ns();

    for (int i = 0; i < CALLS; i++)
        sb_now_ns();
    return (double)(sb_now_ns() - started) / CALLS;
}

static double time_yield(void)
{
    uint64_t started = sb_now_ns();

    for (int i = 0; i < CALLS; i++)
        sb_give_processor();
    return (double)(sb_now_ns() - started) / CALLS;
}

/* The word never has the value that is expected: the call returns at once. */
static double time_refused_sleep(void)
{
    sb_word32_t word = 1;
    uint64_t started = sb_now_ns();

    for (int i = 0; i < CALLS; i++)
        sb_futex_wait((uint32_t *)&word, 0, SLEEP_LIMIT_NS);
    return (double)(sb_now_ns() - started) / CALLS;
}

static double median_of(double (*measure)(void), double seconds)
{
    sb_samples_t samples = {0};
    uint64_t until = sb_until(seconds);

    while (sb_sample_more(&samples, LEAST, until))
        sb_sample(&samples, measure());
    return sb_median(&samples);
}

typedef struct sleeper {
    sb_word32_t word;
    uint64_t awake_at;
} sleeper_t;

static void sleep_once(void *argument)
{
    sleeper_t *sleeper = argument;

    while (sb_load32(&sleeper->word, SB_ACQUIRE) == 0)
        sb_futex_wait((uint32_t *)&sleeper->word, 0, SLEEP_LIMIT_NS);
    sleeper->awake_at = sb_now_ns();
}

static double time_wake(sb_partner_t *partner)
{
    sleeper_t sleeper = {0};

    sb_partner_begin(partner, sleep_once, &sleeper);
    for (uint64_t until = sb_until(ASLEEP_SECONDS); sb_now_ns() < until;)
        sb_pause();
    uint64_t started = sb_now_ns();
    sb_store32(&sleeper.word, 1, SB_RELEASE);
    sb_futex_wake((uint32_t *)&sleeper.word);
    sb_partner_finish(partner);
    return (double)(sleeper.awake_at - started);
}

static void measure_wake(sb_calibration_t *calibration)
{
    sb_samples_t samples = {0};
    sb_partner_t *partner = sb_partner_start();
    uint64_t until = sb_until(SHARE * calibration->seconds);

    sb_partner_move(partner, calibration->cores[1].cpu);
    while (sb_sample_more(&samples, LEAST, until))
        sb_sample(&samples, time_wake(partner));
    sb_partner_stop(partner);
    sb_measured(calibration, SB_NUMBER_WAKE, sb_median(&samples),
                "from the waking call until the sleeper on another core runs");
}

/* Pages of shared memory that are there after the first one was touched. */
static size_t pages_brought_in(size_t page)
{
    unsigned char present[PAGES];
    size_t count = 0;
    char *memory =
        mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return 0;
    memory[0] = 1;
    memset(present, 0, sizeof present);
    if (mincore(memory, PAGES * page, present) == 0) {
        for (size_t i = 0; i < PAGES; i++)
            count += present[i] & 1;
    }
    munmap(memory, PAGES * page);
    return count;
}

static void measure_pages(sb_calibration_t *calibration)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t together = pages_brought_in(page);

    sb_measured(calibration, SB_NUMBER_PAGE_BYTES, (double)page, "said by the system");
    if (together > 0)
        sb_measured(calibration, SB_NUMBER_READAHEAD_PAGES, (double)together,
                    "pages of shared memory that are there when one was touched");
}

void sb_calibrate_system(sb_calibration_t *calibration)
{
    double seconds = SHARE / 3 * calibration->seconds;

    sb_pin(calibration->cores[0].cpu);
    sb_measured(calibration, SB_NUMBER_CLOCK, median_of(time_clock, seconds),
                "reading the clock, %d times", CALLS);
    sb_measured(calibration, SB_NUMBER_PAUSE, median_of(time_pause, seconds),
                "the pause between two looks, %d times", CALLS);
    sb_measured(calibration, SB_NUMBER_YIELD, median_of(time_yield, seconds),
                "the processor given away with nobody to take it, %d times", CALLS);
    sb_assumed(calibration, SB_NUMBER_SLEEP, median_of(time_refused_sleep, seconds),
               "a futex call that returns at once; how long the way to sleep takes after it "
               "cannot be seen from outside");
    if (calibration->count > 1)
        measure_wake(calibration);
    measure_pages(calibration);
}
