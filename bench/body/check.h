/* SPDX-License-Identifier: BSD-3-Clause */
/* The pass that checks what the timed pass cannot: that the calls do what they should. */
#ifndef SOBOR_BENCH_CHECK_H
#define SOBOR_BENCH_CHECK_H

#include "measure.h"

/* Whether the point's calls are to be checked, and can be. */
bool bench_is_checked(const struct bench_point *point);

/* Collective. Runs some calls of both sides and checks each of them. Returns the number of wrong
 * calls of the rank that has most, the same on every rank. */
long bench_check(struct bench_point *point);

/* The same of the host's side, or what is in its place. */
long bench_check_host(struct bench_point *point);

#endif
