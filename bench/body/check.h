/* SPDX-License-Identifier: BSD-3-Clause */
/* The pass that checks what the timed pass cannot: that the calls do what they should. */
#ifndef SOBOR_BENCH_CHECK_H
#define SOBOR_BENCH_CHECK_H

#include "measure.h"

/* Collective. Runs some calls of both sides and checks each of them. Returns the number of wrong
 * calls over all ranks, the same on every rank. */
long bench_check_bcast(struct bench_point *point);
long bench_check_barrier(struct bench_point *point);
long bench_check_parts(struct bench_point *point);
long bench_check_reduction(struct bench_point *point);

#endif
