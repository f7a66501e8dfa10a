/* SPDX-License-Identifier: BSD-3-Clause */
/* What a cache line takes from rank 0 to rank 1 and back: the measure of what ranks may reach. */
#ifndef SOBOR_BENCH_LINE_H
#define SOBOR_BENCH_LINE_H

#include "job.h"
#include "statistics.h"

#include <stdint.h>

struct bench_line {
    struct bench_ball *ball; /* NULL: it cannot be measured */
    int rank;
    int processor; /* where ranks 0 and 1 play when it is crowded */
    bool crowded;  /* ranks outnumber processors: it is timed beside the blocks, not in between */
    uint64_t round;
};

/* Collective. Nothing is measured where ranks have one processor, are on several nodes, or may not
 * share memory. */
void bench_line_create(struct bench_line *line, const struct bench_job *job);

/* Adds the seconds of one round trip, on rank 0. Ranks 0 and 1 meet; the others return at once, or
 * sleep until it is over where it is crowded. */
int bench_line_record(struct bench_line *line, struct bench_samples *samples);

void bench_line_destroy(struct bench_line *line);

#endif
