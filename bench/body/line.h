/* SPDX-License-Identifier: BSD-3-Clause */
/* What a cache line takes from rank 0 to rank 1 and back: the measure of what two ranks may reach.
 */
#ifndef SOBOR_BENCH_LINE_H
#define SOBOR_BENCH_LINE_H

#include "job.h"
#include "statistics.h"

#include <stdint.h>

struct bench_line {
    struct bench_ball *ball; /* NULL: it cannot be measured */
    int rank;
    uint64_t round;
};

/* Collective. Nothing is measured where ranks outnumber the processors that they may use together,
 * are on several nodes, or may not share memory. */
void bench_line_create(struct bench_line *line, const struct bench_job *job);

/* Adds the seconds of one round trip, on rank 0. Ranks 0 and 1 meet; the others return at once. */
int bench_line_record(struct bench_line *line, struct bench_samples *samples);

void bench_line_destroy(struct bench_line *line);

#endif
