/* SPDX-License-Identifier: BSD-3-Clause */
/* What first calls take: rows of one JSON object a line, from rank 0. */
#ifndef SOBOR_BENCH_FIRST_H
#define SOBOR_BENCH_FIRST_H

#include "options.h"

struct bench_job;

/* Times the first call of each collective in the order given, of the size at its place in the list
 * of sizes. Returns 0, or 1 where memory was short. */
int bench_first_run(const struct bench_job *job, const struct bench_options *options);

#endif
