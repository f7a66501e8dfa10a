/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that come unevenly to a call. */
#ifndef SOBOR_BENCH_ARRIVAL_H
#define SOBOR_BENCH_ARRIVAL_H

struct bench_point;

/* Returns after a time drawn at random, of up to the width that the options say. */
void bench_come_late(const struct bench_point *point);

#endif
