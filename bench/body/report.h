/* SPDX-License-Identifier: BSD-3-Clause */
/* One JSON object per point on rank 0's standard output. */
#ifndef SOBOR_BENCH_REPORT_H
#define SOBOR_BENCH_REPORT_H

#include "limits.h"
#include "measure.h"

enum bench_checked { BENCH_UNCHECKED, BENCH_RIGHT, BENCH_WRONG };

/* single may be NULL; for barriers it holds the times of calls taken one by one. */
void bench_report(const struct bench_point *point, const struct bench_times *times,
                  const struct bench_times *single, const struct bench_limit_times *limit,
                  enum bench_checked checked);

#endif
