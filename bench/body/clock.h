/* SPDX-License-Identifier: BSD-3-Clause */
/* One clock for all ranks. Those of a node share theirs; between nodes the difference is measured.
 */
#ifndef SOBOR_BENCH_CLOCK_H
#define SOBOR_BENCH_CLOCK_H

#include "job.h"

/* Seconds by which rank 0's clock is ahead of this rank's. Collective. Clocks drift apart, by
 * microseconds in a second: it holds for a short time. */
double bench_clock_ahead(const struct bench_job *job);

#endif
