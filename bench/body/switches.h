/* SPDX-License-Identifier: BSD-3-Clause */
/* How often the system takes the processor from the ranks and gives it back. */
#ifndef SOBOR_BENCH_SWITCHES_H
#define SOBOR_BENCH_SWITCHES_H

#include "job.h"
#include "statistics.h"

/* Context switches of the thread that makes the calls, so far. A thread that gives its processor
 * away and stays ready to run counts as switched against its will: the system names it so. */
struct bench_switches {
    double all;
    double voluntary; /* it slept */
};

struct bench_switching {
    struct bench_summary all;
    struct bench_summary voluntary;
};

/* One number for each block: switches of a rank in a call, the mean over the ranks. */
struct bench_switch_samples {
    struct bench_samples all;
    struct bench_samples voluntary;
};

struct bench_switches bench_switches_now(void);

struct bench_switches bench_switches_since(struct bench_switches before);

void bench_switches_add(struct bench_switches *sum, struct bench_switches more);

/* Keeps those of one block of so many calls. Collective; recorded on rank 0. Returns 0, or -1. */
int bench_switches_record(struct bench_switch_samples *samples, const struct bench_job *job,
                          struct bench_switches block, double calls);

struct bench_switching bench_switches_summary(struct bench_switch_samples *samples);

void bench_switches_destroy(struct bench_switch_samples *samples);

#endif
