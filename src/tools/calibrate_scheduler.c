/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that share a core: two of them that hand the processor to each other, two that do not,
 * and one alone that looks at the clock all the time and sees when the system took it away.
 */
#include "tools/calibrate.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHARE 0.05 /* of all seconds, for each measurement */
#define TURNS 200
#define LEAST 5
/* A clock that jumps by more was stopped by something; a reading takes some ten nanoseconds. */
#define STALL_NS 500
/* Longer than any interrupt takes: another process ran. */
#define SLICE_NS 100000

/* What the two processes share. */
typedef struct turn {
    _Alignas(SB_FLAG_STRIDE) sb_word64_t number; /* whose turn: odd the child's */
    _Alignas(SB_FLAG_STRIDE) sb_word64_t yields;
} turn_t;

static void take_turns(turn_t *turn, uint64_t first, uint64_t last)
{
    for (uint64_t number = first; number < last; number += 2) {
        while (sb_load64(&turn->number, SB_ACQUIRE) < number) {
            sb_give_processor();
            sb_add64(&turn->yields, 1, SB_RELAXED);
        }
        sb_store64(&turn->number, number + 1, SB_RELEASE);
    }
}

/* One that ends with this process, however that ends: it would compute for ever. */
static pid_t start_process(void)
{
    pid_t parent = getpid(), child = fork();

    if (child < 0)
        sb_tool_fail("no process could be started");
    if (child == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
        _exit(1);
    return child;
}

static void end_process(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* Time of one switch; every yield gives the processor to the other process. */
static double time_switch(turn_t *turn, uint64_t round)
{
    uint64_t first = round * TURNS;
    uint64_t yields = sb_load64(&turn->yields, SB_RELAXED);
    uint64_t started = sb_now_ns();

    take_turns(turn, first, first + TURNS);
    uint64_t ended = sb_now_ns();
    return (double)(ended - started) / (double)(sb_load64(&turn->yields, SB_RELAXED) - yields + 1);
}

void sb_calibrate_switch(sb_calibration_t *calibration)
{
    sb_samples_t samples = {0};
    turn_t *turn = sb_map_shared(sizeof *turn, calibration->cores[0].unit[SB_LEVEL_NUMA]);
    pid_t child = start_process();

    if (child == 0) {
        take_turns(turn, 1, UINT64_MAX);
        _exit(0);
    }
    uint64_t until = sb_until(SHARE * calibration->seconds);
    for (uint64_t round = 0; sb_sample_more(&samples, LEAST, until); round++)
        sb_sample(&samples, time_switch(turn, round));
    end_process(child);
    sb_unmap(turn, sizeof *turn);
    sb_measured(calibration, SB_NUMBER_SWITCH, sb_median(&samples),
                "two processes on one core give it away to each other in turn");
}

/* Jumps of the clock, in ns: those above `least` and not above `most`. */
static void watch_clock(sb_samples_t *samples, uint64_t least, uint64_t most, uint64_t until)
{
    uint64_t before = sb_now_ns();

    while (before < until) {
        uint64_t now = sb_now_ns();
        if (now - before > least && now - before <= most)
            sb_sample(samples, (double)(now - before));
        before = now;
    }
}

static void measure_slice(sb_calibration_t *calibration)
{
    sb_samples_t samples = {0};
    pid_t child = start_process();

    while (child == 0)
        sb_pause();
    watch_clock(&samples, SLICE_NS, UINT64_MAX, sb_until(SHARE * calibration->seconds));
    end_process(child);
    if (samples.count > 0)
        sb_measured(calibration, SB_NUMBER_SLICE, sb_median(&samples),
                    "two processes compute on one core; how long each runs at a time");
}

static void measure_noise(sb_calibration_t *calibration)
{
    sb_samples_t samples = {0};
    double seconds = SHARE * calibration->seconds;
    double sum = 0;

    watch_clock(&samples, STALL_NS, SLICE_NS, sb_until(seconds));
    for (size_t i = 0; i < samples.count; i++)
        sum += samples.value[i];
    if (samples.count == 0)
        return;
    sb_measured(calibration, SB_NUMBER_NOISE_RATE, (double)samples.seen / seconds,
                "jumps of the clock by %d to %d ns while one process looks at it", STALL_NS,
                SLICE_NS);
    sb_measured(calibration, SB_NUMBER_NOISE_LENGTH, sum / (double)samples.count,
                "mean length of these jumps");
}

void sb_calibrate_scheduler(sb_calibration_t *calibration)
{
    sb_pin(calibration->cores[0].cpu);
    measure_noise(calibration);
    sb_calibrate_switch(calibration);
    measure_slice(calibration);
}
