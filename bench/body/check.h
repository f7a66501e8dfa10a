/* SPDX-License-Identifier: BSD-3-Clause */
/* The pass that checks what the timed pass cannot: that the calls do what they should. */
#ifndef SOBOR_BENCH_CHECK_H
#define SOBOR_BENCH_CHECK_H

#include "measure.h"

/* Collective. Runs some calls of both sides and checks each of them. Returns the number of wrong
 * calls of the rank that has most, the same on every rank. */
long bench_check(struct bench_point *point);

#endif
