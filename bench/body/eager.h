/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for the longest message that leaves while its receiver is away. */
#ifndef SOBOR_BENCH_EAGER_H
#define SOBOR_BENCH_EAGER_H

/* Whether one message of so many bytes left. Both ends ask in the same order and hear the same. */
typedef int bench_eager_trial(void *context, int bytes);

/*
 * The largest size that is known to leave, 0 if none does, and the smallest that is known not to;
 * they are near each other. Sizes up to twice `most` are tried, each until two trials agree: a
 * sender that loses its processor for a while makes one of them wrong, either way.
 */
void bench_eager_search(bench_eager_trial *trial, void *context, int most, int *leaves, int *stays);

#endif
