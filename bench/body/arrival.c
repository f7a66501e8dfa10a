/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank is late by a share of the width, which it draws anew for each call.
 *
 * The time is computed away, as a program's would be: a rank that slept would give its processor to
 * others, and would be woken late. Only where ranks share processors it sleeps, since computing
 * ranks would then hold up those that are in the call already. */

#include "arrival.h"

#include "measure.h"

#include <time.h>

enum { STEPS = 200 };

/* The result of the recurrences, so that no compiler leaves them out. */
static volatile double computed;

/* From 0 to 1, by the seed, the rank and the call. */
static double share_of(const struct bench_point *point)
{
    uint64_t bits = point->options->seed * 0x9e3779b97f4a7c15u +
                    ((uint64_t)point->call << 20 | (uint64_t)point->job->rank);
    for (int i = 0; i < 3; i++)
        bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9u;
    return (double)(bits >> 11) * 0x1p-53;
}

/* Four recurrences that depend on each other. */
static void compute_until(double end)
{
    double a = 1.0, b = 2.0, c = 3.0, d = 4.0;
    while (bench_now() < end)
        for (int i = 0; i < STEPS; i++) {
            a = 0.25 * b + 0.5;
            b = 0.25 * c + a;
            c = 0.25 * d + b;
            d = 0.25 * a + c;
        }
    computed = d;
}

static void sleep_for(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

void bench_come_late(const struct bench_point *point)
{
    double seconds = point->options->arrival * share_of(point);
    if (seconds == 0.0)
        return;
    if (point->job->fits)
        compute_until(bench_now() + seconds);
    else
        sleep_for(seconds);
}
